"""Attempts on machines elsewhere: an agent on each machine, carried by dask.distributed."""
