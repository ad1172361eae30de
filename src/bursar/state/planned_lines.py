"""Which tasks a plan has for each machine, as a decision of an autoscaler tells it.

A line has the tasks of a machine in the order in which they begin there. Its name is the number of
the machine, or an offer with a number, `small+2`: the second machine of that offer which is rented
for the decision, and has no number of its own yet.
"""

from __future__ import annotations


def new_line(offer: str, place: int) -> str:
    """The line of a machine that is still to be rented; places count from 1."""
    return f"{offer}+{place}"


def machine_line(machine: int) -> str:
    return str(machine)


def machine_of(line: str) -> int | None:
    """The machine of a line; None: it is still to be rented."""
    return int(line) if line.isdecimal() else None
