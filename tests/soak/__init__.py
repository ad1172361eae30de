"""Long runs on machines elsewhere while parts of them fail: `make soak`."""
