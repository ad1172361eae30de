"""What browsers and other programs reach over HTTP."""
