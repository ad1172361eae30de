"""All reproductions, two at a time; some come last, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final

from bursar.model.errors import InputError
from bursar.reproduce.result import ENTRIES, Reproduction, reproduce

AT_ONCE: Final = 2
TIMED: Final = frozenset({"expert-runtime", "prob-overhead", "autoscaling-fig-5.3"})
"""what else runs would be measured with them"""
ALONE: Final = TIMED | {"regret", "workflows-table-2.1", "optimum-fig-5.17", "optimum-fig-5.18"}
"""those, and what uses all processors itself"""


def compute(names: Iterable[str] = ENTRIES) -> Iterator[tuple[str, Reproduction | InputError]]:
    """By name, in the order given; an error where the data that one needs is not here."""
    wanted = list(names)
    found: dict[str, Reproduction | InputError] = {}
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        others = [name for name in wanted if name not in ALONE]
        found.update(zip(others, pool.map(_computed, others), strict=True))
    found.update((name, _computed(name)) for name in wanted if name in ALONE)
    yield from ((name, found[name]) for name in wanted)


def _computed(name: str) -> Reproduction | InputError:
    try:
        return reproduce(name)
    except InputError as error:  # it needs data that is not here
        return error
