"""Plans for workflows."""
