"""Models of a load: they foresee what statsmodels does."""

from __future__ import annotations

import numpy as np
import pytest

from bursar.policies.load_models import arma_weights, forecasts


def series_of(seed):
    """Loads of three kinds: noise, a walk, and rare bursts."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(21, 121))
    return [
        rng.poisson(10, count).astype(float),
        np.abs(np.cumsum(rng.integers(-3, 4, count))).astype(float),
        np.where(rng.random(count) < 0.1, rng.integers(0, 50, count), 0).astype(float),
    ][seed % 3]


def test_each_model_foresees_what_stays_as_it_is():
    for model, ahead in forecasts([8.0] * 40).items():
        assert ahead == pytest.approx(np.full(20, 8.0), abs=1e-3), model


@pytest.mark.parametrize("seed", range(12))
def test_each_model_foresees_what_statsmodels_does(seed):
    from statsmodels.tsa.ar_model import AutoReg  # late: it takes a second
    from statsmodels.tsa.holtwinters import SimpleExpSmoothing

    series = series_of(seed)
    count = len(series)
    lags = min(9, count // 2 - 2)
    smooth = SimpleExpSmoothing(series, initialization_method="known", initial_level=series[0])
    fits = [smooth.fit(smoothing_level=level, optimized=False) for level in (0.2, 0.5, 0.8)]
    line = np.polynomial.Polynomial.fit(np.arange(count), series, 1)
    expected = {
        "autoregression": AutoReg(series, lags).fit().predict(count, count + 19),
        "exponential smoothing": min(fits, key=lambda fit: fit.sse).forecast(20),
        "linear regression": line(count + np.arange(20)),
    }
    found = forecasts(series)
    for model, ahead in expected.items():
        assert found[model] == pytest.approx(ahead, rel=1e-9, abs=1e-9), model


@pytest.mark.parametrize("seed", range(12))
def test_the_weights_of_arma_are_those_of_statsmodels(seed):
    from statsmodels.tsa.arima.estimators.hannan_rissanen import hannan_rissanen

    series = series_of(seed)
    fit, _ = hannan_rissanen(series, ar_order=1, ma_order=1, demean=True, unbiased=False)
    assert arma_weights(series) == pytest.approx((fit.ar_params[0], fit.ma_params[0]), rel=1e-6)


def arma_series(towards, echo, count=120):
    shocks = np.random.default_rng(5).normal(0, 3, count)
    loads = np.zeros(count)
    for step in range(1, count):
        loads[step] = towards * loads[step - 1] + shocks[step] + echo * shocks[step - 1]
    return 20 + loads


def test_arma_foresees_what_statsmodels_does_with_the_same_weights():
    from statsmodels.tsa.arima.model import ARIMA

    series = arma_series(0.8, 0.4)
    model = ARIMA(series - series.mean(), order=(1, 0, 1), trend="n")
    expected = series.mean() + model.filter([*arma_weights(series), 1.0]).forecast(20)
    assert forecasts(series)["ARMA"] == pytest.approx(expected, abs=1e-6)


def test_arma_that_would_explode_foresees_the_last_load():
    growing = 1.3 ** np.arange(40)
    weights = arma_weights(growing)
    assert max(map(abs, weights)) >= 1
    assert forecasts(growing)["ARMA"] == pytest.approx(np.full(20, growing[-1]))
