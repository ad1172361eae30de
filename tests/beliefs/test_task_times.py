"""Tables of task times: who takes what part of a run time, and how exact the distributions are."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bursar.beliefs import task_times
from bursar.beliefs.calibrated import REFERENCE_DISK, REFERENCE_NETWORK
from bursar.beliefs.histogram import BINS, Histogram
from bursar.beliefs.performance import Performance, Profile, time_on
from bursar.beliefs.task_times import profiles, workflow_times
from bursar.model.errors import InputError
from bursar.model.market import Offer
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.model.workflow_builder import WorkflowBuilder

MB = 10**6
PLAIN = Offer("plain", ZERO)
FAST = Offer("fast", ZERO, speed=4.0)


def bandwidths(make, seed=0, count=4000):
    return Histogram.from_bandwidths(np.maximum(make(np.random.default_rng(seed), count), 1e6))


STEADY = Performance(1.0, Histogram.constant(1e-8), Histogram.constant(1e-8))
ONE_MODE = {
    "narrow": Performance(
        1.0,
        bandwidths(lambda rng, n: rng.gamma(129.3, 0.79e6, n)),
        bandwidths(lambda rng, n: rng.normal(100e6, 20e6, n), 1),
    ),
    "narrow and wide": Performance(
        2.0,
        bandwidths(lambda rng, n: rng.normal(100e6, 0.5e6, n)),
        bandwidths(lambda rng, n: rng.gamma(2, 50e6, n), 1),
    ),
    "heavy tails": Performance(
        0.5,
        bandwidths(lambda rng, n: 1e8 / (1 + rng.pareto(2.5, n))),
        bandwidths(lambda rng, n: 1e8 / (1 + rng.pareto(2.5, n)), 1),
    ),
}
TWO_MODES = Performance(
    1.0,
    bandwidths(lambda rng, n: np.where(rng.random(n) < 0.1, 1e7, 1e8) * rng.normal(1, 0.02, n)),
    bandwidths(lambda rng, n: np.where(rng.random(n) < 0.3, 2e7, 1e8) * rng.normal(1, 0.02, n), 1),
)


def flow_of(parts):
    flow = WorkflowBuilder("flow")
    for number, (cpu, io, network) in enumerate(parts):
        flow.task(f"t{number}", runtime={"cpu": cpu, "io": io, "network": network})
    return flow.build()


def many_ratios():
    shares = np.linspace(0.01, 0.99, 45)
    return [(0.0, 20 * share, 20 * (1 - share)) for share in shares.tolist()]


def worst_of(performance, parts):
    """The greatest error of any bin, by what the exact sum has there."""
    dag = flow_of(parts)
    found = workflow_times(dag, [PLAIN], {"plain": performance})
    worst = 0.0
    for task, (cpu, io, network) in enumerate(parts):
        profile = Profile(
            round(cpu * SECOND), round(io * REFERENCE_DISK), round(network * REFERENCE_NETWORK)
        )
        exact = time_on(profile, performance).values
        worst = max(worst, float(np.max(np.abs(found.of(task, 0).values - exact) / exact)))
    return worst


@pytest.mark.parametrize("performance", ONE_MODE.values(), ids=ONE_MODE)
def test_every_bin_is_within_a_hundredth_of_the_exact_sum(performance):
    assert worst_of(performance, many_ratios()) <= 0.01


def test_with_two_modes_every_bin_is_within_three_hundredths():
    assert worst_of(TWO_MODES, many_ratios()) <= 0.03


def test_disk_alone_or_network_alone_is_exact():
    parts = [(5.0, 3.0, 0.0), (5.0, 0.0, 3.0), (5.0, 0.0, 0.0), (0.0, 0.0, 0.0)]
    dag = flow_of(parts)
    for performance in (*ONE_MODE.values(), STEADY):
        found = workflow_times(dag, [PLAIN], {"plain": performance})
        disk = performance.disk.values * 3 * REFERENCE_DISK
        network = performance.network.values * 3 * REFERENCE_NETWORK
        for task, moving in enumerate((disk, network, 0.0)):
            assert found.of(task, 0).values == pytest.approx(5 / performance.speed + moving)
        assert found.of(3, 0) == Histogram.constant(0.0)


def test_one_that_does_not_vary_moves_the_other():
    varying = ONE_MODE["narrow"]
    half = Performance(1.0, varying.disk, Histogram.constant(2 / REFERENCE_NETWORK))
    found = workflow_times(flow_of([(1.0, 4.0, 3.0)]), [PLAIN], {"plain": half})
    expected = 1 + 2 * 3 + varying.disk.values * 4 * REFERENCE_DISK
    assert found.of(0, 0).values == pytest.approx(expected)


SECONDS = st.floats(0, 1e4)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS), min_size=1, max_size=20))
def test_means_are_exact_and_rows_ascend(parts):
    performances = {"plain": ONE_MODE["heavy tails"], "fast": ONE_MODE["narrow and wide"]}
    dag = flow_of(parts)
    found = workflow_times(dag, [PLAIN, FAST, Offer("other", ZERO, speed=2.0)], performances)
    assert np.all(np.diff(found.table, axis=1) >= 0)
    assert found.table.min() >= 0
    means = found.means()
    for task, (cpu, io, network) in enumerate(parts):
        for column, one in enumerate(performances.values()):
            mean = cpu / one.speed
            mean += io * REFERENCE_DISK * one.disk.mean
            mean += network * REFERENCE_NETWORK * one.network.mean
            assert means[task, column] == pytest.approx(mean, rel=1e-9)
        assert means[task, 2] == pytest.approx((cpu + io + network) / 2, rel=1e-9)


def test_tasks_alike_share_a_row():
    found = workflow_times(flow_of([(1.0, 2.0, 3.0)] * 50 + [(1.0, 2.0, 4.0)]), [PLAIN, FAST], {})
    assert found.table.shape == (4, BINS)
    assert len(np.unique(found.rows[:50], axis=0)) == 1
    assert found.rows.shape == (51, 2)


# --- what a run time is made of ------------------------------------------------------------------


def made_of(dag):
    found = profiles(dag)
    return [tuple(row) for row in np.column_stack(found).tolist()]


def test_parts_are_seconds_at_the_reference():
    assert made_of(flow_of([(7.0, 2.0, 3.0)])) == [(7.0, 200 * MB, 300 * MB)]


def test_files_take_their_share_of_a_run_time():
    flow = WorkflowBuilder("flow")
    flow.task("make", runtime=10, reads={"raw": 100 * MB}, writes={"made": 300 * MB})
    flow.task("use", runtime=10, reads={"made": 300 * MB, "raw": 100 * MB})
    make, use = made_of(flow.build())
    assert make == pytest.approx((6.0, 400 * MB, 0))
    assert use == pytest.approx((3.0, 400 * MB, 300 * MB))


def test_files_never_take_more_than_the_run_time():
    flow = WorkflowBuilder("flow")
    flow.task("make", runtime=1, writes={"made": 300 * MB})
    flow.task("use", runtime=3, reads={"made": 300 * MB})
    make, use = made_of(flow.build())
    assert make == pytest.approx((0.0, 100 * MB, 0), abs=1e-9)
    assert use == pytest.approx((0.0, 150 * MB, 150 * MB), abs=1e-9)


def test_measured_volumes_beat_the_sizes_of_files():
    flow = WorkflowBuilder("flow")
    flow.task("make", runtime=10, writes={"made": 100 * MB}, volume=(500 * MB, None))
    assert made_of(flow.build())[0] == pytest.approx((4.0, 600 * MB, 0))


def test_files_of_unknown_size_and_no_files_leave_all_to_the_processor():
    flow = WorkflowBuilder("flow")
    flow.task("make", runtime=10, writes=["made"])
    flow.task("use", runtime=0, reads=["made"])
    assert made_of(flow.build()) == [(10.0, 0.0, 0.0), (0.0, 0.0, 0.0)]


def test_a_slower_disk_slows_only_what_the_disk_does():
    flow = WorkflowBuilder("flow")
    flow.task("make", runtime=10, writes={"made": 400 * MB})
    slow = Performance(2.0, Histogram.constant(3 / REFERENCE_DISK), STEADY.network)
    found = workflow_times(flow.build(), [PLAIN], {"plain": slow})
    assert found.of(0, 0).values == pytest.approx(np.full(BINS, 6 / 2 + 4 * 3))


# --- offers of which nothing was measured --------------------------------------------------------


def test_without_measurements_the_speed_of_the_market_divides_all():
    found = workflow_times(flow_of([(7.0, 2.0, 3.0)]), [PLAIN, FAST], {})
    assert found.of(0, 0) == Histogram.constant(12.0)
    assert found.of(0, 1) == Histogram.constant(3.0)


@pytest.mark.parametrize("deviation", [0.1, 0.5, 1.5])
def test_a_deviation_is_that_of_every_time(deviation):
    found = workflow_times(flow_of([(7.0, 2.0, 3.0)]), [FAST], {}, deviation).of(0, 0)
    assert found.mean == pytest.approx(3.0)
    assert found.least > 0
    middle = 3 / np.sqrt(1 + deviation**2)
    assert found.quantile(0.5) == pytest.approx(middle, rel=0.001)
    assert np.log(found.quantile(0.841345) / middle) == pytest.approx(
        np.sqrt(np.log1p(deviation**2)), rel=0.01
    )


# --- size and mistakes ---------------------------------------------------------------------------


def test_ten_thousand_tasks_on_four_offers_take_a_moment():
    rng = np.random.default_rng(0)
    dag = flow_of(rng.gamma(2, 10, (10_568, 3)).tolist())
    offers = [Offer(f"offer-{number}", ZERO) for number in range(4)]
    performances = {offer.name: ONE_MODE["narrow and wide"] for offer in offers}
    took = []
    for _ in range(3):
        start = time.perf_counter()
        found = workflow_times(dag, offers, performances)
        took.append(time.perf_counter() - start)
    assert found.table.shape == (4 * 10_568, BINS)
    assert min(took) < 1.5  # 0.2 s on a machine with nothing else to do


def test_a_task_without_a_run_time_is_named():
    flow = WorkflowBuilder("flow")
    for name in ("a", "b", "c"):
        flow.task(name, runtime=1 if name == "a" else None)
    with pytest.raises(InputError, match=r"'b' \(and 1 more task\) has no run time; add runtime:"):
        workflow_times(flow.build(), [PLAIN], {})


@pytest.mark.parametrize(
    ("offers", "performance", "message"),
    [
        ([], STEADY, "no offer"),
        ([PLAIN], Performance(0.0, STEADY.disk, STEADY.network), "speed 0"),
        ([PLAIN], Performance(1.0, Histogram.constant(-1.0), STEADY.network), "calibrate again"),
        ([PLAIN], Performance(1.0, Histogram.constant(1.0, 9), STEADY.network), "calibrate again"),
    ],
)
def test_what_cannot_be_is_refused(offers, performance, message):
    with pytest.raises(InputError, match=message):
        workflow_times(flow_of([(1.0, 1.0, 1.0)]), offers, {"plain": performance})


def test_a_deviation_must_be_a_number_of_0_or_more():
    for wrong in (-0.1, float("nan"), float("inf")):
        with pytest.raises(InputError, match="a deviation of"):
            workflow_times(flow_of([(1.0, 1.0, 1.0)]), [PLAIN], {}, wrong)


def test_very_many_tasks_get_fewer_bins_with_the_same_means(monkeypatch):
    dag = flow_of([(n + 1, 0.5 * n, 0.1 * n) for n in range(50)])
    performances = {"fast": ONE_MODE["narrow and wide"]}
    whole = workflow_times(dag, (PLAIN, FAST), performances, 0.3)
    monkeypatch.setattr(task_times, "MOST_CELLS", 50 * 2 * 20)
    fewer = workflow_times(dag, (PLAIN, FAST), performances, 0.3)
    assert whole.table.shape[1] == BINS
    assert fewer.table.shape[1] == 20
    assert fewer.means() == pytest.approx(whole.means())
    assert np.all(np.diff(fewer.table, axis=1) >= 0)
