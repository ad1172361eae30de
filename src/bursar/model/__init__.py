"""Values, and nothing but values: work, workflows, markets, goals, fleets, money and time."""
