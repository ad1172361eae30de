"""Autoscalers that follow the load: what each of them wants, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.model.errors import InputError
from bursar.model.market import Market, Offer
from bursar.model.money import ZERO
from bursar.model.time import HOUR, MINUTE, SECOND
from bursar.policies.load_models import MODELS
from bursar.policies.provision.adapt import Adapt
from bursar.policies.provision.conpaas import ConPaaS, _far_first
from bursar.policies.provision.hist import Hist
from bursar.policies.provision.react import React
from bursar.policies.provision.reg import Reg, curve_now
from bursar.state import events as ev

MARKET = Market("USD", "undated", (Offer("one", ZERO),))
EVERY = 30 * SECOND


def teach(entry, loads, supplies=None, begin=0):
    """Decisions of before, as the journal tells them."""
    for number, load in enumerate(loads):
        supply = load if supplies is None else supplies[number]
        at = begin + number * EVERY
        entry.saw(ev.ScaleDecided(at, {}, load, supply, "", {"load": float(load)}), None)
    return entry


def slots(entry, load, supply, now):
    return entry.slots(load, supply, entry._loads.get("", ()), now, "")[0]


def test_react_wants_the_load_and_two_more():
    assert slots(React(MARKET), 7, 3, 0) == 9


def test_reg_wants_a_twentieth_more_while_the_load_exceeds_the_supply():
    assert slots(Reg(MARKET), 100, 90, 0) == 105


def test_reg_follows_a_parabola_down():
    loads = [400 - 2 * step - step**2 // 10 for step in range(40)]
    entry = teach(Reg(MARKET), loads[:-1])
    assert abs(slots(entry, loads[-1], 400, 39 * EVERY) - loads[-1]) <= 1


def test_reg_lets_everything_go_where_its_curve_exceeds_the_supply():
    entry = teach(Reg(MARKET), [10, 10, 90, 90, 90, 90])
    assert slots(entry, 20, 21, 6 * EVERY) == 0


def test_the_curve_of_a_few_points_goes_through_them():
    assert curve_now([(0, 4)]) == pytest.approx(4)
    assert curve_now([(0, 4), (SECOND, 6)]) == pytest.approx(6)
    assert curve_now([(0, 4), (SECOND, 6), (2 * SECOND, 0)]) == pytest.approx(0)


def test_reg_looks_at_the_last_sixty_loads():
    entry = teach(Reg(MARKET), [1_000] * 50 + [5] * 59)
    assert slots(entry, 5, 900, 109 * EVERY) == 5


def test_hist_wants_what_this_hour_nearly_never_exceeded():
    entry = teach(Hist(MARKET), range(100))
    assert slots(entry, 3, 200, 50 * MINUTE) == 98
    assert slots(entry, 3, 200, 2 * HOUR) == 3, "nothing is known of that hour"
    assert slots(entry, 3, 200, 24 * HOUR) == 98, "the same hour of the next day"


def test_hist_wants_more_than_usual_where_it_was_too_low_lately():
    entry = teach(Hist(MARKET), [10] * 10, supplies=[9] * 6 + [10] * 4)
    assert slots(entry, 40, 1, 2 * HOUR) == 42
    entry = teach(Hist(MARKET), [10] * 10, supplies=[20] * 10)
    assert slots(entry, 40, 1, 2 * HOUR) == 40


def test_hist_adds_what_the_last_five_decisions_lacked_in_the_mean():
    entry = teach(Hist(MARKET), [10] * 5, supplies=[1, 20, 10, 10, 4])
    assert slots(entry, 10, 10, 2 * HOUR) == 13, "9 and 6 of five; what was too much is not taken"
    entry = teach(entry, [10] * 5, begin=5 * EVERY)
    assert slots(entry, 10, 10, 2 * HOUR) == 10


def test_hist_reckons_hours_from_the_time_of_the_day_at_which_the_run_began():
    entry = teach(Hist(MARKET, begun=30), [70] * 10)
    assert slots(entry, 3, 70, 29 * MINUTE) == 70
    assert slots(entry, 3, 70, 30 * MINUTE) == 3, "the next hour"
    with pytest.raises(InputError, match="a minute of the day, 0 to 1439, not 1440"):
        Hist(MARKET, begun=1440)


def test_hist_forgets_what_is_long_ago():
    entry = Hist(MARKET)
    for load in [1_000] * 100 + [5] * 730:
        teach(entry, [load])
    assert slots(entry, 5, 5, 0) == 5


def test_adapt_goes_up_at_once_and_down_slowly():
    entry = teach(Adapt(MARKET), [20] * 10)
    assert slots(entry, 35, 20, 300 * SECOND) == 35
    assert slots(entry, 8, 20, 300 * SECOND) == 17, "a quarter of the surplus"
    assert slots(entry, 19, 20, 300 * SECOND) == 20, "not yet a whole slot"


def test_adapt_releases_faster_from_far_above_its_mean_supply():
    entry = teach(Adapt(MARKET), [10] * 10, supplies=[10] * 10)
    assert slots(entry, 8, 20, 300 * SECOND) == 14, "twice the mean supply: half of the surplus"
    entry = teach(Adapt(MARKET), [40] * 10, supplies=[40] * 10)
    assert slots(entry, 8, 20, 300 * SECOND) == 19, "half the mean supply: an eighth of it"


def test_adapt_never_releases_below_the_load():
    entry = teach(Adapt(MARKET, damping=0.5), [20] * 10)
    assert slots(entry, 8, 20, 300 * SECOND) == 8


def test_adapt_adds_up_what_is_no_whole_slot():
    entry = teach(Adapt(MARKET), [19, 19, 19], supplies=[20, 20, 20])
    assert slots(entry, 19, 20, 3 * EVERY) == 19


def test_adapt_wants_a_damping_above_zero():
    with pytest.raises(InputError, match="damping"):
        Adapt(MARKET, damping=0)


def test_conpaas_wants_the_load_while_it_knows_little():
    assert slots(teach(ConPaaS(MARKET), [4] * 19), 7, 1, 0) == 7


def test_conpaas_forecasts_with_the_model_that_was_best():
    loads = list(range(10, 60))
    entry = teach(ConPaaS(MARKET, reading="paper"), loads)
    entry._errors = {("", model): [float(model != "linear regression")] for model in MODELS}
    ahead = np.arange(61, 81)
    wanted = np.average(ahead, weights=np.arange(20, 0, -1))
    assert slots(entry, 60, 60, 50 * EVERY) == int(np.ceil(wanted - 1e-9))


def test_the_published_conpaas_weighs_what_is_far_most():
    from statsmodels.tsa.ar_model import AutoReg  # late: it takes a second

    loads = np.random.default_rng(3).poisson(20, 60)
    entry = teach(ConPaaS(MARKET), loads[:-1].tolist())
    ahead = AutoReg(loads.astype(float), 9).fit().predict(60, 79)
    wanted = np.average(ahead, weights=np.arange(1, 21))
    assert slots(entry, int(loads[-1]), 20, 59 * EVERY) == int(np.ceil(wanted))


def test_the_published_conpaas_leaves_out_what_is_negative():
    ahead = np.array([4.0, -9.0, 6.0, *[-1.0] * 17])
    assert _far_first(ahead) == pytest.approx((4 * 1 + 6 * 3) / (1 + 3))


def test_the_published_conpaas_keeps_what_is_there_where_nothing_is_foreseen():
    falling = list(range(153, 3, -5))
    assert slots(teach(ConPaaS(MARKET), falling), 3, 9, 30 * EVERY) == 9
    assert slots(teach(ConPaaS(MARKET), falling), 1, 9, 30 * EVERY) == 1


def test_a_model_of_conpaas_that_errs_loses():
    loads = [float(10 + 10 * (step % 2)) for step in range(60)]
    entry = ConPaaS(MARKET, reading="paper")
    for step, load in enumerate(loads):
        slots(entry, round(load), 20, step * EVERY)
        teach(entry, [round(load)], begin=step * EVERY)
    errors = {model: entry._error("", model) for model in MODELS}
    assert min(errors, key=errors.get) == "autoregression"
