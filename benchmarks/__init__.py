"""Speed, side by side with peers, as ratios measured in one run: `python -m benchmarks`."""
