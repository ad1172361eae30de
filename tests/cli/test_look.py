"""Looking at runs and tidying up: logs, watch, rm, report."""

from __future__ import annotations

import json
import re
import time

import pytest

from bursar.journal.replay import load_digest
from bursar.model.errors import BursarError


def eventually(check, limit=60):
    begin = time.monotonic()
    while not (found := check()):
        assert time.monotonic() - begin < limit
        time.sleep(0.05)
    return found


def test_what_a_task_printed_can_be_read(place):
    place.bursar(
        "run", "--name", "talk", "--shell", "echo out {}; echo err {} >&2", ":::", "1", "2"
    )
    out, err = place.bursar("logs", "2")
    assert out == "out 2\nerr 2\n"
    assert "task 2, result: stdout, stderr" in err
    assert place.bursar("logs", "2", "--stderr", "--run", "talk")[0] == "err 2\n"
    assert place.json("logs", "1")[0]["what"] == "result"
    assert "no task '3'" in place.bursar("logs", "3", code=2)[1]


def test_a_failure_keeps_what_was_printed(place):
    place.bursar("run", "--shell", "echo why >&2; exit 3", ":::", "1", code=3)
    assert place.bursar("logs", "1", "--stderr")[0] == "why\n"


def test_hostile_names_are_text_on_the_terminal(place):
    """Also in what one screen of `watch` tells of failures and decisions."""
    names = ("\x1b[31mred", "\u202egnp.exe", "x" * 10_000)
    words = ("--name", "hostile", "--shell", "echo {} >&2; exit 3", ":::", *names)
    place.bursar("run", *words, code=3)
    for command in ("watch", "status", "why"):
        printed = "".join(place.bursar(command, "hostile"))
        assert "\x1b" not in printed
        assert "\u202e" not in printed


def test_a_task_under_way_can_be_followed(place):
    process = place.popen(
        "run", "-q", "--name", "slow", "--shell", "echo early; sleep 2; echo late", ":::", "1"
    )
    attempts = place.outputs("slow") / ".attempts"
    eventually(lambda: attempts.is_dir() and any(attempts.glob("*/stdout")))
    out, _ = place.bursar("logs", "1", "--stdout", "--follow")
    assert out.startswith("early\n")
    assert process.wait(60) == 0
    process.communicate()


def test_a_run_is_removed_with_its_results_and_nothing_else(place):
    place.bursar("run", "-q", "--name", "old", "echo", ":::", "1")
    place.bursar("run", "-q", "--name", "kept", "--output", "mine", "echo", ":::", "1")
    assert "add --yes" in place.bursar("rm", "old", code=2)[1]
    assert "removed old" in place.bursar("rm", "--yes", "old")[1]
    assert not (place.path / ".bursar" / "old").exists()
    (place.path / ".bursar" / "kept" / "notes.txt").write_text("mine")
    assert "has other files" in place.bursar("rm", "--yes", "kept")[1]
    assert (place.path / ".bursar" / "kept" / "notes.txt").read_text() == "mine"
    assert (place.path / "mine" / "1" / "stdout").exists(), "results elsewhere stay"
    assert "no run 'old'" in place.bursar("rm", "--yes", "old", code=2)[1]


def test_a_run_that_is_executed_is_not_removed(place):
    process = place.popen("run", "-q", "--name", "busy", "sleep", ":::", "30")
    eventually((place.path / ".bursar" / "busy" / "journal.db").exists)
    eventually(lambda: "busy" in place.bursar("status")[0])
    assert "is being run by process" in place.bursar("rm", "--yes", "busy", code=2)[1]
    process.terminate()
    place.bursar("stop", "--now", "busy")
    process.communicate(timeout=60)


def test_a_run_is_watched_full_screen_with_keys(place):
    place.bursar("run", "-q", "--market", "market.toml", "--budget", "1", "--name", "seen", "echo",
                 ":::", "1", "2", "3")  # fmt: skip
    with place.terminal("watch", "seen", columns=110) as terminal:
        terminal.read("Done: 3 of 3 tasks")
        terminal.type("w")
        terminal.read("run created")
        terminal.type("q")
        terminal.end()
        assert "\x1b[?1049h" in terminal.text, "the screen before comes back"
    assert "Done: 3 of 3 tasks" in place.bursar("watch", "seen")[0]


@pytest.mark.parametrize("redact", [False, True])
def test_a_report_is_one_file(place, redact):
    place.bursar("run", "-q", "--name", "told", "echo", ":::", "secret-argument")
    words = ["--redact"] if redact else []
    _, err = place.bursar("report", "told", "--html", "told.html", *words)
    assert "open it in a browser" in err
    text = (place.path / "told.html").read_text()
    assert ("secret-argument" in text) is not redact
    assert json.loads(place.bursar("report", "told", "--json")[0])["run"] == "told"


def test_a_simulated_run_is_kept_and_looked_at_like_a_real_one(place):
    words = ["--market", "market.toml", "--tasks", "40", "--runtime", "3s", "--budget", "9"]
    _, err = place.bursar("simulate", *words, "--runs", "2", "--keep", "what-if")
    assert "kept the run of seed" in err
    assert "what-if  done" in place.bursar("status")[0]
    shown = place.json("report", "what-if")
    assert shown["tiles"][0]["value"] == "40"
    assert shown["about"]["command"].startswith("bursar simulate --market market.toml --tasks 40")
    assert (
        "there is a run what-if already"
        in place.bursar("simulate", *words, "--keep", "what-if", code=2)[1]
    )


def test_a_simulation_that_was_cut_off_can_be_removed(place):
    words = ["--market", "market.toml", "--tasks", "40000", "--runtime", "3s", "--budget", "90000"]
    process = place.popen("simulate", *words, "--runs", "1", "--fleet", "small=1", "--keep", "cut")
    journal = place.path / ".bursar" / "cut" / "journal.db"

    def has_machines():
        try:
            return load_digest(journal).machines
        except BursarError:  # it is being made
            return 0

    try:
        assert eventually(has_machines, 120)
    finally:
        process.kill()
        process.communicate()
    assert load_digest(journal).status is None, "it was cut off"
    assert "removed cut" in place.bursar("rm", "--yes", "cut")[1]


def test_defaults_of_the_user_count_where_nothing_else_is_given(place):
    place.write("mine.toml", 'market = "market.toml"\nbudget = "0.50"\n')
    place.environment["BURSAR_CONFIG"] = str(place.path / "mine.toml")
    _, err = place.bursar("run", "--name", "usual", "echo", ":::", "1")
    assert "budget $0.50" in err
    _, err = place.bursar("run", "--budget", "0.70", "echo", ":::", "1")
    assert "budget $0.70" in err
    _, err = place.bursar("run", "-j", "1", "echo", ":::", "1")
    assert "free of charge" in err, "who asks for this computer gets it"
    place.write("mine.toml", "page = true")
    assert "page: http://127.0.0.1:" in place.bursar("run", "echo", ":::", "1")[1]
    assert "page: " not in place.bursar("run", "--no-page", "echo", ":::", "1")[1]
    place.write("mine.toml", 'page = "often"')
    assert "page is true or false" in place.bursar("run", "echo", ":::", "1", code=2)[1]
    place.environment["NO_COLOR"] = ""
    place.write("mine.toml", 'color = "pink"')
    assert 'color is one of "auto", "always"' in place.bursar("status", code=2)[1]
    place.write("mine.toml", 'markt = "market.toml"')
    assert "did you mean 'market'" in place.bursar("run", "echo", ":::", "1", code=2)[1]


def test_colours_are_as_the_user_wants_them_and_the_environment_counts_for_more(place):
    place.bursar("run", "--name", "seen", "echo", ":::", "1")
    place.environment["BURSAR_CONFIG"] = str(place.path / "mine.toml")

    def colors(verb, way, **environment):
        place.write("mine.toml", f'color = "{way}"')
        place.environment.update({"NO_COLOR": "", "FORCE_COLOR": "", **environment})
        return bool(re.search(r"\x1b\[[0-9;]*3[0-9]", place.bursar(*verb)[0]))

    for verb in (["watch", "seen"], ["--help"]):
        assert colors(verb, "always"), verb
        assert not colors(verb, "auto"), "nobody sees a pipe"
        assert not colors(verb, "always", NO_COLOR="1")
        assert colors(verb, "never", FORCE_COLOR="1")
