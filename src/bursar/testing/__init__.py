"""For authors of policies and worlds: adversaries and contract tests to run against them."""

from bursar.testing.scene import Scene

__all__ = ["Scene"]
