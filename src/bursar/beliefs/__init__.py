"""Beliefs: what was observed of run times and machines, and what it predicts."""
