"""`prob-fig-3`: four tasks on two paths, of which none is surely the critical one (Prob, figure 3).

The figure's table of distributions cannot be read from the text. So the example is our own: one
path is steady, the other one varies, and takes longer in the mean, but not more often than not.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np

from bursar.beliefs.histogram import Histogram
from bursar.beliefs.performance import Profile, time_on
from bursar.model.dag import dag_of
from bursar.model.time import SECOND
from bursar.plan.published.prob_operations import Tally, add, maximum
from bursar.plan.workflow.makespan import WorkflowTimes
from bursar.reproduce.prob_setting import ASSUMED as SETTING_ASSUMED
from bursar.reproduce.prob_setting import NAMES, performances
from bursar.reproduce.result import Reproduction, Row, between, checked, shown_only

SAMPLES: Final = 20_000
AGREED: Final = 0.005
"""how far the sampled makespan may be from that of the histograms, relatively"""


class Example(msgspec.Struct, frozen=True):
    """A task: processor seconds at speed 1, gigabytes of disk and of network."""

    offer: str
    work: int
    disk: float
    network: float

    def time(self) -> Histogram:
        profile = Profile(self.work * SECOND, round(self.disk * 1e9), round(self.network * 1e9))
        return time_on(profile, performances()[NAMES.index(self.offer)])


STEADY: Final = (Example("m1.large", 345, 1.0, 0.0), Example("m1.large", 300, 1.5, 1.0))
VARYING: Final = (Example("m1.small", 90, 1.5, 0.5), Example("m1.small", 60, 1.5, 1.2))
ASSUMED: Final = (
    "the table of figure 3 cannot be read from the text, so that no figure of it can come out",
    "an example of our own: each path has two tasks, given as offer, processor seconds at speed 1,"
    " GB of disk, GB of network: path 1 "
    + ", ".join(f"{x.offer} {x.work}/{x.disk:g}/{x.network:g}" for x in STEADY)
    + "; path 2 "
    + ", ".join(f"{x.offer} {x.work}/{x.disk:g}/{x.network:g}" for x in VARYING),
    SETTING_ASSUMED[0],
    SETTING_ASSUMED[1],
)


def reproduce(name: str, samples: int = SAMPLES) -> Reproduction:
    tasks = [one.time() for one in (*STEADY, *VARYING)]
    first, second = (add(one, other, Tally()) for one, other in (tasks[:2], tasks[2:]))
    return Reproduction(
        name=name,
        title="An example of probabilistic optimization: two paths of two tasks each",
        source="Prob, figure 3 and section 3.3",
        rows=(*_rows(first, second), *_sampled(tasks, first, second, samples)),
        assumed=ASSUMED,
    )


def _greatest(*paths: Histogram) -> float:
    return maximum(np.array([one.values for one in paths]), Tally()).mean


def _rows(first: Histogram, second: Histogram) -> tuple[Row, ...]:
    static, once = max(first.mean, second.mean), _greatest(first, second)
    twice = _greatest(first, second, first, second)
    critical = 1 - second.chance_at_most(first)
    error, grown = 100 * (once / static - 1), 100 * (twice / static - 1)
    return (
        shown_only("path 1, expected, s", None, first.mean),
        shown_only("path 2, expected, s", 251.5, second.mean, "the static critical path"),
        shown_only("makespan, expected, s", 257.4, once),
        shown_only("path 2 is the longer one, probability", 0.48, critical),
        shown_only("two such workflows in parallel, expected, s", 271.6, twice),
        shown_only("the static method is too short by, %", 2.3, error, "257.4 by 251.5"),
        shown_only("two in parallel: too short by, %", 8.0, grown, "271.6 by 251.5"),
        checked(
            "the static critical path is the longer one, probability",
            critical,
            between(0, 0.5, "it is not even likely"),
        ),
        checked(
            "makespan by that of the static method",
            once / static,
            between(1, 2, "lemma 1: static methods are too short, here by less than the whole"),
        ),
        checked(
            "two in parallel by one, expected makespan",
            twice / once,
            between(1, 2, "errors accumulate in more complex structures"),
        ),
    )


def _sampled(
    tasks: list[Histogram], first: Histogram, second: Histogram, samples: int
) -> tuple[Row, ...]:
    """The same by drawn executions, which use no histogram of a path."""
    found = []
    for copies, label in ((1, "makespan"), (2, "two in parallel")):
        chains = [parents for one in range(copies) for parents in _chains(4 * one)]
        times = WorkflowTimes(dag_of(chains), [[one] for one in tasks * copies])
        drawn = float(times.sample(np.zeros(4 * copies, dtype=np.int64), samples).mean())
        ratio = drawn / _greatest(*[first, second] * copies)
        what = f"{label}: {samples:,} executions by Prob"
        band = between(1 - AGREED, 1 + AGREED, f"chance in {samples:,} executions")
        found.append(checked(what, ratio, band))
    return tuple(found)


def _chains(begin: int) -> list[list[int]]:
    return [[], [begin], [], [begin + 2]]
