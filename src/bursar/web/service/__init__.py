"""The HTTP service: several users submit work to one run."""
