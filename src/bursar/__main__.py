"""`python -m bursar` is `bursar`."""

from bursar.cli.main import main

main()
