"""Whether turnaround times grow or shrink as a run goes on.

Tasks of a bag may be sorted, hosts that are slow may be left out: what returned first is then no
sample of what returns last. The slope is that of Gehan's rank test for censored times. It asks for
no distribution, and those that are still under way count for as long as they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

STEEPEST: Final = 3.0
"""The greatest slope that is looked for, of the logarithm: times twenty."""
HALVINGS: Final = 20
NEARBY: Final = 0.1
"""Slopes this much apart tell how sharply the found one differs from others."""
MOST: Final = 20_000
"""Times that are looked at; of more, evenly many."""


def slope_of(when: Floats, spans: Floats, returned: Floats, weights: Floats) -> float:
    """By how much the logarithm of the spans grows with `when`, less what chance would explain.

    `returned` is 1 where a span ended with a result and 0 where it goes on, with the chance that it
    ends with one as its weight. A slope b of standard error s is drawn to b (1 - s^2 / b^2), and to
    0 where chance explains it all.
    """
    import numpy as np

    part = slice(None, None, 1 + len(when) // MOST)
    when, weights, returned = when[part], weights[part], returned[part]
    logs = np.log(np.maximum(1.0, spans[part]))
    low, high = -STEEPEST, STEEPEST
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_steep = _score(middle, when, logs, returned, weights)[0] > 0
        low, high = (low, middle) if is_steep else (middle, high)
    slope = (low + high) / 2
    above, below = (
        _score(slope + side, when, logs, returned, weights)[0] for side in (NEARBY, -NEARBY)
    )
    sharpness = (above - below) / (2 * NEARBY)
    if sharpness <= 0 or slope == 0:
        return 0.0
    error = _score(slope, when, logs, returned, weights)[1] / sharpness**2
    return slope * max(0.0, 1.0 - error / slope**2)


def _score(
    slope: float, when: Floats, logs: Floats, returned: Floats, weights: Floats
) -> tuple[float, float]:
    """Whether results came from later ones than were awaited with them, and its variance.

    With too steep a slope late ones seem quick, and it is above 0. It never falls as slopes rise.
    """
    import numpy as np

    order = np.argsort(logs - slope * when, kind="stable")
    when, weights, returned = when[order], weights[order], returned[order]

    def awaited(values: Floats) -> Floats:
        return np.cumsum(values[::-1])[::-1]

    count = awaited(weights)
    mean = awaited(weights * when) / np.maximum(count, 1e-9)
    spread = np.maximum(0.0, awaited(weights * when**2) / np.maximum(count, 1e-9) - mean**2)
    share = count / len(when)
    score = float((returned * share * (when - mean)).sum())
    return score, float((returned * share**2 * spread).sum())
