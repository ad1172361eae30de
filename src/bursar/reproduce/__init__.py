"""Published tables and figures beside ours: one file each, computed again every time."""
