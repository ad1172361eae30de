"""Planners as papers published them, for comparison."""
