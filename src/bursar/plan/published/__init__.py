"""Planners as papers published them.

`bmct`, `icpcp`, `spss` and `dpds` (with `ensemble`) are what `bursar plan --compare` shows beside
ours. The `prob_*` files are Prob as published, for its reproductions (`reproduce/prob_*`).
"""
