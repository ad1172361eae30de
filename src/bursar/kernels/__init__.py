"""Everything compiled: plain functions that numba makes fast. Imports `model` only."""
