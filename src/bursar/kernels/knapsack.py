"""The searches of `knapsack_search`, compiled on first use and kept on disk by numba."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

import msgspec

from bursar.kernels import knapsack_direct, knapsack_search
from bursar.kernels.compiling import compile_kept, let_kernels_call


class Searches(msgspec.Struct, frozen=True):
    """The searches, in one form."""

    arrange: Callable[..., None]
    most_value: Callable[..., bool]
    first_step: Callable[..., int]
    least_weight: Callable[..., bool]
    all_choices: Callable[..., int]
    search_direct: Callable[..., tuple[int, int]]


PLAIN = Searches(
    arrange=knapsack_search.arrange,
    most_value=knapsack_search.most_value,
    first_step=knapsack_search.first_step,
    least_weight=knapsack_search.least_weight,
    all_choices=knapsack_search.all_choices,
    search_direct=knapsack_direct.search_direct,
)
"""On lists of Python integers of any size."""


HELPERS: Final = (
    knapsack_search.gain_within,
    knapsack_search.tight_gain_within,
    knapsack_search.weight_for,
    knapsack_search.pieces_for,
    knapsack_search.middle_for,
    knapsack_search.arrange,
    knapsack_search.is_new,
    knapsack_search.keep,
    knapsack_search.most_value,
    knapsack_direct.set_burdens,
    knapsack_direct.speed_within,
)
"""What the searches call."""


def is_loaded() -> bool:
    """Whether the compiled searches are at hand without a delay."""
    return compiled.cache_info().currsize > 0


@cache
def compiled() -> Searches:
    """On arrays of 64-bit integers. The first call imports numba, which takes half a second."""
    let_kernels_call(*HELPERS)
    return Searches(
        arrange=compile_kept(knapsack_search.arrange),
        most_value=compile_kept(knapsack_search.most_value),
        first_step=compile_kept(knapsack_search.first_step),
        least_weight=compile_kept(knapsack_search.least_weight),
        all_choices=compile_kept(knapsack_search.all_choices),
        search_direct=compile_kept(knapsack_direct.search_direct),
    )
