"""Workflows and workloads that are drawn: shapes, sizes, totals and arrivals are as asked for."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.model.errors import InputError
from bursar.model.time import SECOND
from bursar.reproduce.workflows_shape_facts import critical_path, generations, shape_facts
from bursar.simulate.workloads.arrivals import at_utilization, utilization_of
from bursar.simulate.workloads.daggen import DaggenShape, daggen
from bursar.simulate.workloads.drawn import TaskDrawer, composition
from bursar.simulate.workloads.generate import drawn_totals, generate, sizes_of
from bursar.simulate.workloads.kinds import KINDS, draw
from bursar.simulate.workloads.ligo import ligo
from bursar.simulate.workloads.montage import images_of, montage
from bursar.simulate.workloads.spec import (
    CLASSES,
    HYPER_GAMMA,
    Batch,
    Poisson,
    SizeClass,
    Traced,
    WorkloadSpec,
)

MIXTURE = (("montage", 1.0), ("ligo", 1.0), ("sipht", 1.0))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(KINDS)), st.integers(0, 300), st.integers(0, 2**32))
def test_every_size_gives_a_workflow_of_about_that_size(kind, more, seed):
    size = KINDS[kind][1] + more
    drawn = draw(kind, size, np.random.default_rng(seed))
    fewer = size - len(drawn)
    if kind == "epigenomics":  # alike lanes: 4 tasks a piece, for each lane
        assert 0 <= fewer < 4 * len([one for one in drawn.labels if one == "fastqSplit"])
    else:
        assert fewer == (size % 2 if kind == "ligo" else 0)
    assert (drawn.runtimes > 0).all()
    for task, parents in enumerate(drawn.parents):
        assert all(parent < task for parent in parents)
    dag = drawn.dag()
    assert len(dag) == len(drawn)
    assert dag.kind(0) == drawn.labels[0]


def test_a_workflow_that_is_too_small_is_refused_in_one_line():
    with pytest.raises(InputError, match="montage workflow has at least 13 tasks; 12 are too few"):
        draw("montage", 12, np.random.default_rng(0))
    with pytest.raises(InputError, match="no kind of workflows 'montag'; did you mean 'montage'"):
        draw("montag", 30, np.random.default_rng(0))


def test_montage_compares_pairs_of_images_and_joins_them():
    flow = montage(38, np.random.default_rng(5))
    counts = Counter(flow.labels)
    assert images_of(38) == counts["mProjectPP"] == counts["mBackground"] == 7
    assert counts["mDiffFit"] == 18
    assert max(generations(flow.dag())) + 1 == 9
    parents = {label: flow.parents[flow.labels.index(label)] for label in counts}
    assert len(parents["mConcatFit"]) == 18
    assert len(parents["mImgTbl"]) == 7


@pytest.mark.parametrize(("size", "images"), [(30, 6), (34, 7), (42, 8), (70, 11), (576, 95)])
def test_montage_has_as_many_images_as_the_published_generator_takes(size, images):
    assert images_of(size) == images


@pytest.mark.parametrize("seed", range(20))
def test_ligo_joins_each_first_inspiral_and_repeats_each_group(seed):
    flow = ligo(122, np.random.default_rng(seed))
    counts = Counter(flow.labels)
    dag = flow.dag()
    assert counts["Inspiral"] == counts["TmpltBank"] + counts["TrigBank"]
    widths = sorted(len(p) for p, label in zip(flow.parents, flow.labels, strict=True)
                    if label == "Thinca")  # fmt: skip
    assert widths[::2] == widths[1::2]
    childless = [flow.labels[task] for task in range(len(dag)) if not len(dag.children.of(task))]
    assert set(childless) == {"Thinca"}


def test_a_random_workflow_is_as_wide_as_its_shape_says():
    rng = np.random.default_rng(3)
    thin = shape_facts(daggen(200, rng, DaggenShape(1, 0.8, 0.2, 0.1)).dag() for _ in range(20))
    fat = shape_facts(daggen(200, rng, DaggenShape(1, 0.8, 0.8, 0.1)).dag() for _ in range(20))
    assert thin.widths.mean() < 200**0.2 * 1.3
    assert 200**0.8 < fat.widths.mean() < 200**0.8 * 1.3


def test_run_times_have_the_moments_asked_for_and_keep_their_limits():
    drawer = TaskDrawer("any", np.random.default_rng(1))
    times = np.array([drawer.around(10.0, 2.0) for _ in range(20_000)])
    assert times.mean() == pytest.approx(10, rel=0.01)
    assert times.std() == pytest.approx(2, rel=0.02)
    assert 5 <= times.min() <= times.max() <= 15
    assert drawer.around(33.0, 0.0) == 33.0
    skewed = np.array([drawer.skewed(10.0, 5.0) for _ in range(20_000)])
    assert (skewed.mean(), skewed.std()) == pytest.approx((10, 5), rel=0.03)


def test_every_way_of_writing_a_sum_is_equally_likely():
    rng = np.random.default_rng(2)
    found = Counter(tuple(composition(rng, 5, 3)) for _ in range(6000))
    assert len(found) == 6
    assert max(found.values()) < 1.2 * min(found.values())


def test_three_quarters_of_the_sizes_are_small_and_all_are_even():
    sizes = sizes_of(CLASSES, 20_000, np.random.default_rng(0))
    assert np.mean(sizes <= 38) == pytest.approx(0.75, abs=0.01)
    assert np.mean(sizes >= 200) == pytest.approx(0.05, abs=0.005)
    assert not (sizes % 2).any()
    assert (sizes.min(), sizes.max()) == (30, 600)


def test_total_run_times_are_an_hour_in_the_mean():
    totals = drawn_totals(HYPER_GAMMA, 50_000, np.random.default_rng(0))
    assert totals.mean() == pytest.approx(3600, rel=0.01)
    # 0.7 Gamma(5, 501.266) + 0.3 Gamma(45, 136.709): second moment by hand
    second = 0.7 * 501.266**2 * 5 * 6 + 0.3 * 136.709**2 * 45 * 46
    assert totals.std() == pytest.approx((second - 3600**2) ** 0.5, rel=0.02)


def test_the_same_seed_gives_the_same_workload_and_another_one_another():
    spec = WorkloadSpec(kinds=MIXTURE, count=30, seed=7)
    assert generate(spec) == generate(spec)
    assert generate(WorkloadSpec(kinds=MIXTURE, count=30, seed=8)) != generate(spec)


def test_kinds_take_turns_by_their_shares():
    workload = generate(WorkloadSpec(kinds=(("montage", 2), ("sipht", 1)), count=30))
    names = [one.work.workflow.name for one in workload.arrivals]
    assert Counter(names) == {"montage": 20, "sipht": 10}
    assert Counter(names[:3]) == {"montage": 2, "sipht": 1}


@pytest.mark.parametrize("utilization", [0.05, 0.98])
def test_the_utilization_is_exact_for_each_set(utilization):
    arrivals = Poisson(utilization=utilization, speed=40)
    for seed in range(3):
        spec = WorkloadSpec(kinds=MIXTURE, count=40, seed=seed, arrivals=arrivals)
        arrays = generate(spec).arrays
        assert utilization_of(arrays, 40) == pytest.approx(utilization, rel=1e-6)
        assert utilization_of(at_utilization(arrays, 0.5, 40), 40) == pytest.approx(0.5, rel=1e-6)


def test_a_poisson_process_has_gaps_that_vary_as_much_as_their_mean():
    arrivals = Poisson(rate=2.0)
    kinds = (("daggen", 1),)
    spec = WorkloadSpec(
        kinds=kinds, count=4000, classes=(SizeClass(1, 1, 1),), arrivals=arrivals, seed=3
    )
    gaps = np.diff(generate(spec).arrays.arrived, prepend=0) / SECOND
    assert gaps.mean() == pytest.approx(0.5, rel=0.06)
    assert gaps.std() == pytest.approx(0.5, rel=0.06)


def test_arrivals_may_be_recorded_ones_or_all_at_once():
    traced = WorkloadSpec(kinds=MIXTURE, count=3, arrivals=Traced((107.5, 100.0, 101.0)))
    assert [one.at / SECOND for one in generate(traced).arrivals] == [0, 1, 7.5]
    batch = WorkloadSpec(kinds=MIXTURE, count=3, arrivals=Batch())
    assert {one.at for one in generate(batch).arrivals} == {0}
    with pytest.raises(InputError, match="2 arrivals were recorded, but there are 3 works"):
        generate(WorkloadSpec(kinds=MIXTURE, count=3, arrivals=Traced((1.0, 2.0))))


def test_totals_may_stay_as_they_are_drawn_or_be_scaled_all_alike():
    as_drawn = WorkloadSpec(kinds=MIXTURE, count=20, seed=1, totals="generated", arrivals=Batch())
    hour = WorkloadSpec(kinds=MIXTURE, count=20, seed=1, totals=3600.0, arrivals=Batch())
    first, second = generate(as_drawn).arrays, generate(hour).arrays
    assert second.runtimes.sum() / SECOND / 20 == pytest.approx(3600, rel=1e-6)
    shares = second.runtimes / first.runtimes
    assert shares.max() == pytest.approx(shares.min(), rel=1e-3)


def test_facts_of_a_shape_by_hand():
    drawer = TaskDrawer("hand", np.random.default_rng(0))
    first = drawer.task("a", 1.0)
    middle = [drawer.task("b", 2.0, (first,)) for _ in range(3)]
    drawer.task("a", 4.0, middle)
    dag = drawer.done().dag()
    facts = shape_facts([dag])
    assert (facts.sizes[0], facts.widths[0], facts.edges[0], facts.paths[0]) == (5, 3, 6, 3)
    assert critical_path(dag) == 7
    assert facts.parallelism[0] == 11 / 7
    assert facts.moments["a"].mean == 2.5
