"""Workloads that are drawn: shapes of workflows, sizes, total run times and arrivals."""
