"""Planners: beliefs in, plans out. Nothing here rents, runs or looks at a clock."""
