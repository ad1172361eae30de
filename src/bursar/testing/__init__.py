"""For authors of policies and worlds: adversaries and contract tests to run against them."""
