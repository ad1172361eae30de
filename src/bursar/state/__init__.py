"""What is true of a run: events, the state they fold into, and the view of it that policies get."""
