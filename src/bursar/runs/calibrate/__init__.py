"""Measuring what a machine performs."""
