"""The comparison on spot traces, with traces made for the purpose."""

import json
from pathlib import Path

import pytest

from bursar.model.errors import InputError
from bursar.report.plot import svg
from bursar.reproduce.spot_traces import (
    DATA,
    FALLBACK,
    MEAN,
    OURS,
    RETRY,
    compare,
    execute,
    read_pools,
    reproduce,
    run_times,
)
from bursar.state import events as ev

SCARCE = [1] * 40 + [0] * 60 + [1] * 8 + [0] * 36
CALM = [3] * 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("spot")
    files = {
        "availability_1-node_aws-02-15-2023_us-east-1a_v100_1": SCARCE,
        "availability_1-node_aws-02-15-2023_us-east-1c_v100_1": SCARCE[30:] + SCARCE[:30],
        "preemption_3-node_gcp-04-30-2023_us-central1-a_c3-88": CALM,
    }
    for name, values in files.items():
        text = json.dumps({"metadata": {"gap_seconds": 300}, "data": values})
        (place / f"{name}.json").write_text(text)
    return place


class Watch:
    """Which offers each task was tried on, in order."""

    def __init__(self):
        self.tries = {}

    def saw(self, event, state):
        if isinstance(event, ev.AttemptStarted):
            offer = state.machines[event.machine].offer.name
            self.tries.setdefault(event.task, []).append(offer)


def test_single_nodes_of_one_type_and_date_are_one_pool(folder):
    scarce, calm = read_pools(folder)
    assert (scarce.name, scarce.seats) == ("aws 02-15-2023 v100_1", 2)
    assert scarce.share == pytest.approx(48 / 144)
    assert scarce.losses == pytest.approx(0.5)
    assert (calm.name, calm.seats) == ("gcp 04-30-2023 c3-88 us-central1-a, 3 nodes", 3)
    assert (calm.share, calm.losses) == (1.0, 0.0)
    assert scarce.notice > calm.notice > 0


def test_run_times_have_the_mean_that_is_said():
    assert sum(run_times(20_000, 1)) / 20_000 == pytest.approx(MEAN, rel=0.02)


def test_with_retry_no_task_ever_leaves_spot(folder):
    watch = Watch()
    execute(RETRY, read_pools(folder)[0], 0, 1, [watch])
    assert {offer for tries in watch.tries.values() for offer in tries} == {"spot"}
    assert max(map(len, watch.tries.values())) > 1


def test_on_demand_machines_take_what_was_lost_once(folder):
    watch = Watch()
    execute(FALLBACK, read_pools(folder)[0], 0, 1, [watch])
    kinds = {tuple(tries) for tries in watch.tries.values()}
    assert kinds == {("spot",), ("on-demand",), ("spot", "on-demand")}


def test_the_chosen_strategy_beats_waiting_for_a_scarce_pool(folder):
    found = compare(read_pools(folder)[0], 2)
    assert found[OURS].product < 0.7 * found[RETRY].product
    assert found[OURS].makespan < found[RETRY].makespan


def test_where_nothing_is_lost_the_chosen_strategy_costs_no_more(folder):
    found = compare(read_pools(folder)[1], 2)
    assert found[OURS].product < 1.05 * found[RETRY].product


def test_the_table_has_all_rules_of_each_pool_and_a_plot(folder):
    found = reproduce("spot-traces", folder, 2)
    assert len(found.rows) == 4 + 2 * 5
    assert [row.low for row in found.rows[:3]] == [0.0, 0.0, 0.0]
    assert "2 zones" in found.rows[2].note, "those of the pool of single nodes"
    ratio = found.rows[8]
    assert ratio.what == f"aws 02-15-2023 v100_1: {OURS} by {FALLBACK}"
    assert ratio.ours == pytest.approx(found.rows[4].ours / found.rows[6].ours, rel=0.02)
    assert svg(found.plots[0]).startswith("<svg")


def test_absent_data_is_reported_in_one_line(tmp_path):
    with pytest.raises(InputError, match="no spot traces"):
        reproduce("spot-traces", tmp_path / DATA.name)
