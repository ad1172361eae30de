"""Print the page of all reproductions: `python -m bursar.reproduce`."""

from bursar.reproduce.page import page
from bursar.reproduce.result import ENTRIES, reproduce

print(page(reproduce(name) for name in ENTRIES), end="")
