"""`workflows-fig-2.7`: the joint eligible set, and machines that are reserved and idle.

Strict reservation (`sr`) on the mixture, looked at every 30 seconds: at the utilization that was
published as its highest, and at the highest at which ours keeps up.
"""

from __future__ import annotations

from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from bursar.model.time import SECOND
from bursar.report.plot import Plot, Series
from bursar.reproduce.result import Reproduction, Row, between, checked, judged, shown_only
from bursar.reproduce.workflows_setting import ALIKE, MIXTURE, RunSize, data_text, workload_one
from bursar.reproduce.workflows_table_2_1 import NO_READING, maximum, placer_of
from bursar.simulate.placing import WorkloadPlacement
from bursar.simulate.workloads.arrivals import at_utilization

Floats = NDArray[np.float64]
EVERY: Final = 30 * SECOND
PERIOD: Final = 5 * 3600 * SECOND
"""that is drawn"""
PUBLISHED: Final = 0.35
MOST_DRAWN: Final = 110
"""as in the thesis"""
ASSUMED: Final = (
    "one set; tokens: stay; reserved machines are those that are idle and kept for a workflow, and"
    " the eligible set has running tasks, too (section 1.4); means are those of the middle third",
    "wasted are the reserved machines for which an eligible task of any workflow waits",
)


class Dynamics(msgspec.Struct, frozen=True, eq=False):
    """By moment, every 30 seconds."""

    times: Floats
    """hours"""
    eligible: Floats
    reserved: Floats
    waiting: Floats
    """tasks that are eligible and do not run"""

    @property
    def middle(self) -> slice:
        third = len(self.times) // 3
        return slice(third, 2 * third)

    @property
    def busy(self) -> Floats:
        return self.eligible - self.waiting

    @property
    def wasted(self) -> Floats:
        return np.minimum(self.waiting, self.reserved)


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    size = RunSize.of(quick=quick)
    highest = maximum(("SR", "stay", "mixture"), size)
    published, ours = (_dynamics(step, size) for step in (PUBLISHED, highest))
    return Reproduction(
        name=name,
        title="Eligible tasks and reserved machines over time, SR",
        source="workflow thesis, figure 2.7",
        rows=(*_rows(published), *_rows_at_highest(ours, highest)),
        assumed=(*ASSUMED, data_text(), *(["quick: 900 workflows"] if quick else [])),
        plots=(_plot(published, PUBLISHED), _plot(ours, highest)),
    )


def _dynamics(utilization: float, size: RunSize) -> Dynamics:
    seed = size.seeds[0]
    arrays = at_utilization(workload_one(MIXTURE, size.works, seed), utilization, len(ALIKE))
    placement = WorkloadPlacement(arrays, ALIKE, placer_of("SR", "stay"), seed=seed)
    placement.add_machines(range(len(ALIKE)))
    moments = range(0, int(arrays.arrived[-1]), EVERY)
    found = []
    for moment in moments:
        placement.advance(moment)
        waiting = placement.waiting
        found.append((waiting + placement.running, placement.reserved, waiting))
    eligible, reserved, waiting_then = np.array(found, np.float64).T
    hours = np.array(moments, np.float64) / (3600 * SECOND)
    return Dynamics(hours, eligible, reserved, waiting_then)


def _share(values: Floats, found: Dynamics) -> float:
    return float(values[found.middle].mean()) / len(ALIKE)


def _rows(found: Dynamics) -> list[Row]:
    most = float((found.busy + found.reserved).max())
    return [
        checked(
            f"at {PUBLISHED}: share of time-machines that are busy",
            _share(found.busy, found),
            between(PUBLISHED - 0.05, PUBLISHED + 0.05, "what is imposed; chance in 1,000 works"),
        ),
        judged(
            f"at {PUBLISHED}: share that is reserved and idle",
            0.65,
            _share(found.reserved, found),
            between(0.55, 0.65, "approaches 0.65, the rest of the capacity"),
            why=NO_READING,
        ),
        shown_only(f"at {PUBLISHED}: share that is wasted", None, _share(found.wasted, found)),
        shown_only(
            f"at {PUBLISHED}: share of time with more eligible tasks than machines",
            None,
            float(np.mean(found.eligible[found.middle] > len(ALIKE))),
        ),
        checked(
            f"at {PUBLISHED}: most machines that are busy or reserved",
            most,
            between(0, len(ALIKE), "there are no more"),
        ),
    ]


def _rows_at_highest(found: Dynamics, utilization: float) -> list[Row]:
    busy, reserved = _share(found.busy, found), _share(found.reserved, found)
    return [
        shown_only("SR: highest utilization at which ours keeps up", PUBLISHED, utilization),
        shown_only("there: share that is reserved and idle", None, reserved),
        checked(
            "there: busy or reserved and idle",
            busy + reserved,
            between(0.9, 1.0, "the system is saturated: reservations take what is left"),
        ),
    ]


def _plot(found: Dynamics, utilization: float) -> Plot:
    begin = found.middle.start
    drawn = slice(begin, begin + PERIOD // EVERY)
    hours = (found.times[drawn] - found.times[begin]).tolist()

    def series(label: str, values: Floats) -> Series:
        cut = np.minimum(values[drawn], MOST_DRAWN).tolist()
        return Series(label, tuple(zip(hours, cut, strict=True)), "line")

    return Plot(
        title=f"SR at {utilization}: eligible tasks and reserved machines",
        across="hours",
        upward=f"tasks or machines (cut at {MOST_DRAWN})",
        series=(series("eligible tasks", found.eligible), series("reserved", found.reserved)),
    )
