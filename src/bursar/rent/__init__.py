"""Renting machines: what this computer offers, and how its emulated market behaves."""
