"""Simulation: the same engine and policies, with a world that only exists in memory."""
