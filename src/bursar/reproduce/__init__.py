"""Published tables and figures beside ours: one file each, computed anew every time."""
