"""Entries in the roles, one a file, and the registry that finds them by name."""
