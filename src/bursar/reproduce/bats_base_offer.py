"""Complete samples by one base offer, as published (BaTS thesis, section 3.1.3).

A few tasks run on every offer. One offer is the base, whichever; the line from it to each other
offer comes from those tasks. What ran elsewhere is converted to the base by the inverse of a line,
and the base's complete sample is then known on every other offer. Between any two offers the line
is the composition of the inverse to the base and the line from it.

`samples` goes another way: it keeps what was measured, relates every two offers directly, and
doubts lines that do not fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bursar.beliefs.regression import Line, least_squares

Measured = Mapping[str, Mapping[int, float]]
"""By offer and task, the run time there."""


def lines_from_base(measured: Measured, replicated: Iterable[int], base: str) -> dict[str, Line]:
    """By offer, the line from the base: beta_1 and beta_0 of equation 3.1. That of the base itself
    changes nothing.
    """
    tasks = list(replicated)
    lines = {base: Line(1.0, 0.0, points=len(tasks))}
    for offer, runtimes in measured.items():
        if offer != base:
            points = [(measured[base][task], runtimes[task]) for task in tasks]
            lines[offer] = least_squares(points)
    return lines


def line_between(lines: Mapping[str, Line], source: str, target: str) -> Line:
    """From one offer to another, by the base: beta_1k / beta_1j and beta_0k - beta_1k beta_0j /
    beta_1j, where k is the target and j the source.
    """
    return lines[target].after(lines[source].inverse())


def complete_samples(
    measured: Measured, replicated: Iterable[int], base: str
) -> dict[str, dict[int, float]]:
    """By offer, the run time of every task that ran anywhere; those on the base as measured."""
    lines = lines_from_base(measured, replicated, base)
    on_base: dict[int, float] = {}
    for offer, runtimes in measured.items():
        back = lines[offer].inverse()
        for task, runtime in runtimes.items():
            on_base.setdefault(task, back.apply(runtime))
    on_base.update(measured[base])
    return {
        offer: {task: line.apply(runtime) for task, runtime in on_base.items()}
        for offer, line in lines.items()
    }
