"""What the command line, the web and Python programs call."""
