"""The journal: a run's events on disk, the home of runs, replay and export."""
