"""Advisors: slow thinking about a better plan for what is left, off the loop."""
