"""The dashboard: all runs of a place, and the live page of each."""
