"""The page of a run: a snapshot of what people look at, and the HTML that shows it."""
