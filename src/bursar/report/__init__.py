"""What people and programs read about a run."""
