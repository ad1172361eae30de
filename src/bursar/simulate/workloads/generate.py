"""From a specification to a workload: pure, and the same for the same seed."""

from __future__ import annotations

from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from bursar.model.work import Work
from bursar.model.workflow import Workflow
from bursar.model.workload import Arrival, Workload
from bursar.simulate.workloads.arrivals import arrival_times
from bursar.simulate.workloads.drawn import DrawnWorkflow
from bursar.simulate.workloads.kinds import draw
from bursar.simulate.workloads.spec import GammaStage, SizeClass, Totals, WorkloadSpec

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


def generate(spec: WorkloadSpec, rng: np.random.Generator | None = None) -> Workload:
    """Draw the workload; without a generator, one that begins with the seed of `spec`."""
    rng = np.random.default_rng(spec.seed) if rng is None else rng
    sizes = sizes_of(spec.classes, spec.count, rng)
    kinds = _kinds(spec)
    flows = [draw(kind, size, rng) for kind, size in zip(kinds, sizes.tolist(), strict=True)]
    flows = with_totals(flows, spec.totals, rng)
    moved = 0.0 if spec.bandwidth is None else 1 / spec.bandwidth
    totals = np.array([flow.total + moved * float(flow.volumes.sum()) for flow in flows])
    times = arrival_times(spec.arrivals, totals, rng)
    priorities = _priorities(spec, rng)
    owners = cycle(spec.owners or ("",))
    return Workload(
        tuple(
            Arrival(at, Work(Workflow.of(flow.dag()), owner, priority))
            for at, flow, owner, priority in zip(times.tolist(), flows, owners, priorities)  # noqa: B905 -- owners take turns without end
        ),
        spec.name,
        spec.bandwidth,
    )


def _priorities(spec: WorkloadSpec, rng: np.random.Generator) -> list[int]:
    if spec.priorities is None:
        return [0] * spec.count
    least, most = spec.priorities
    found: list[int] = rng.integers(least, most + 1, spec.count).tolist()
    return found


def _kinds(spec: WorkloadSpec) -> list[str]:
    """Kinds take turns so that after any number of workflows their shares are as given."""
    whole = sum(share for _, share in spec.kinds)
    owed = [0.0] * len(spec.kinds)
    found = []
    for _ in range(spec.count):
        owed = [one + share / whole for one, (_, share) in zip(owed, spec.kinds, strict=True)]
        place = max(range(len(owed)), key=lambda number: (round(owed[number], 9), -number))
        owed[place] -= 1
        found.append(spec.kinds[place][0])
    return found


def sizes_of(classes: tuple[SizeClass, ...], count: int, rng: np.random.Generator) -> Longs:
    """A size for each workflow; even ones, where a class begins with an even number."""
    shares = np.array([one.share for one in classes])
    chosen = rng.choice(len(classes), size=count, p=shares / shares.sum())
    least = np.array([one.least for one in classes])[chosen]
    most = np.array([one.most for one in classes])[chosen]
    sizes: Longs = least + 2 * rng.integers(0, (most - least) // 2 + 1)
    return sizes


def drawn_totals(stages: tuple[GammaStage, ...], count: int, rng: np.random.Generator) -> Floats:
    """Seconds of gamma distributions, each with its share of the draws."""
    shares = np.array([stage.share for stage in stages])
    chosen = rng.choice(len(stages), size=count, p=shares / shares.sum())
    shapes = np.array([stage.shape for stage in stages])[chosen]
    scales = np.array([stage.scale for stage in stages])[chosen]
    return rng.gamma(shapes, scales)


def with_totals(
    flows: list[DrawnWorkflow], totals: Totals, rng: np.random.Generator
) -> list[DrawnWorkflow]:
    """The workflows with the totals asked for."""
    if isinstance(totals, tuple):
        wanted = drawn_totals(totals, len(flows), rng).tolist()
        return [flow.normalised(total) for flow, total in zip(flows, wanted, strict=True)]
    if totals == "generated":
        return flows
    factor = float(totals) * len(flows) / sum(flow.total for flow in flows)
    return [flow.normalised(flow.total * factor) for flow in flows]
