"""The best schedule of a small workload within a budget per interval, with its bound (5.6)."""
