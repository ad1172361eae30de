"""A real run whose tasks take longer than their file says is planned anew while it goes on."""

from __future__ import annotations

CLAIMED, REAL = 0.1, 0.35


def test_a_real_run_is_planned_anew_when_tasks_take_longer_than_reported(place):
    tasks = [f"  t-{n}: {{run: sleep {REAL}, needs: t-{n - 3}}}" for n in range(3, 36)]
    first = [f"  t-{n}: {{run: sleep {REAL}}}" for n in range(3)]
    text = "\n".join([f"defaults: {{runtime: {CLAIMED}s}}", "tasks:", *first, *tasks])
    place.write("flow.yaml", text)
    words = ("run", "flow.yaml", "-m", "market.toml", "-b", "0.6", "--name", "late")
    _, err = place.bursar(*words)
    assert "replanned at" in err
    assert "tasks are slower than predicted" in err
    why = place.bursar("why", "late")[0]
    assert "plan changed:" in why
    reported = place.json("status", "late")
    assert "0.6" in str(reported)
