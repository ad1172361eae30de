import json
import signal
import time
from collections import Counter
from contextlib import suppress

import pytest

from bursar.formats.joblog import read_joblog
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_digest
from bursar.model.errors import JournalError
from bursar.model.money import ZERO
from bursar.state import events as ev
from bursar.state.digest import Digest

BUDGET = ("--market", "market.toml", "--budget", "2.50", "--json", "--name", "r")


def test_a_bag_of_commands_runs_within_its_budget(place):
    place.script("square.sh", 'echo $(($1 * $1)); echo $BURSAR_SPEED > "$BURSAR_OUTPUT_DIR/speed"')
    out, err = place.bursar("run", *BUDGET, "./square.sh {}", ":::", *map(str, range(1, 31)))
    result = json.loads(out)
    assert result["run"] == "r"
    assert result["status"] == "done"
    assert result["tasks"] == {"total": 30, "done": 30, "failed": 0}
    assert result["money"]["budget"] == "2.50"
    assert result["money"]["currency"] == "USD"
    assert 0 < float(result["money"]["committed"]) <= 2.5
    assert result["makespan_s"] > 0
    assert (place.outputs("r") / "7" / "stdout").read_text() == "49\n"
    speeds = {float((place.outputs("r") / str(n) / "speed").read_text()) for n in range(1, 31)}
    assert speeds == {1.0, 2.0}
    assert "storage and transfer are not included" in err


def test_parameters_come_by_name_from_a_file(place):
    place.write("grid.csv", "alpha,seed\n0.5,1\n0.7,2\n")
    place.bursar("run", *BUDGET, "--params", "grid.csv", "echo {alpha} --seed {seed}")
    assert (place.outputs("r") / "2" / "stdout").read_text() == "0.7 --seed 2\n"


def test_a_job_file_holds_every_flag_and_options_after_it_win(place):
    place.write(
        "job.toml",
        'command = "echo {}"\nargs = ["a", "b"]\nmarket = "market.toml"\nbudget = "0.01"\n'
        'name = "fromfile"\njson = true\nquiet = true\n',
    )
    out, err = place.bursar("run", "job.toml", "--budget", "1.25")
    assert json.loads(out)["run"] == "fromfile"
    assert json.loads(out)["money"]["budget"] == "1.25"
    assert err == ""


def test_no_shell_sees_the_arguments_unless_asked(place):
    nasty = "$(touch pwned); 'a b' > x"
    place.bursar("run", *BUDGET, "echo", "{}", ":::", nasty)
    assert (place.outputs("r") / "1" / "stdout").read_text() == nasty + "\n"
    place.bursar("run", *BUDGET[:-1], "s", "--shell", "echo {} | tr a-z A-Z", ":::", nasty)
    assert (place.outputs("s") / "1" / "stdout").read_text() == nasty.upper() + "\n"
    assert not (place.path / "pwned").exists()


def test_without_a_market_this_computer_is_free(place):
    result = json.loads(place.bursar("run", "-q", "--json", "true", ":::", "1", "2")[0])
    assert result["money"] == {"budget": None, "committed": "0.00", "currency": "USD"}


def test_a_failing_task_never_stops_the_bag_and_is_reported_at_the_end(place):
    place.script("odd.sh", 'test $1 != 3 || { echo "three is bad" >&2; exit 7; }')
    out, err = place.bursar(
        "run", *BUDGET, "--retries", "1", "./odd.sh", ":::", "1", "2", "3", "4", code=3
    )
    assert json.loads(out)["tasks"] == {"total": 4, "done": 3, "failed": 1}
    assert "failed: task 3 (exit code 7): ./odd.sh 3" in err
    assert "three is bad" in err
    assert "bursar resume r --retry-failed" in err
    place.script("odd.sh", "true")
    out, _ = place.bursar("resume", "r", "--retry-failed", "--json")
    assert json.loads(out)["tasks"] == {"total": 4, "done": 4, "failed": 0}


def test_an_attempt_that_takes_too_long_is_ended(place):
    begin = time.monotonic()
    _, err = place.bursar("run", *BUDGET, "--timeout", "0.3s", "sleep", "{}", ":::", "60", code=3)
    assert time.monotonic() - begin < 20
    assert "timed out after" in err


def test_a_run_that_its_budget_cannot_finish_stops_and_goes_on_with_more(place):
    out, err = place.bursar(
        "run", *BUDGET[:3], "0.03", "--json", "--name", "b", "--fleet", "small=1",
        "sleep {}", ":::", *["0.4"] * 20, code=4,
    )  # fmt: skip
    result = json.loads(out)
    assert result["status"] == "budget"
    assert float(result["money"]["committed"]) <= 0.03
    assert 0 < result["tasks"]["done"] < 20
    assert "bursar resume b --budget MORE" in err
    out, _ = place.bursar("resume", "b", "--budget", "1", "--json")
    assert json.loads(out)["status"] == "done"
    assert json.loads(out)["tasks"]["done"] == 20


def test_a_missed_deadline_has_its_own_exit_code(place):
    out, _ = place.bursar("run", *BUDGET, "--deadline", "0.5s", "sleep", ":::", "30", code=5)
    assert json.loads(out)["status"] == "deadline"


@pytest.mark.parametrize(("signals", "done"), [(1, True), (2, False)])
def test_ctrl_c_once_lets_attempts_finish_and_twice_does_not(place, signals, done):
    place.script("slow.sh", 'touch started.$1; sleep 3; echo over > "$BURSAR_OUTPUT_DIR/over"')
    process = place.popen("run", *BUDGET, "--fleet", "small=1", "./slow.sh", ":::", "1", "2")
    _until(lambda: list(place.path.glob("started.*")))
    for _ in range(signals):
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert json.loads(out)["status"] == "interrupted"
    assert json.loads(out)["tasks"]["done"] == int(done)
    assert "bursar resume r" in err
    out, _ = place.bursar("resume", "r", "--json")
    assert json.loads(out)["tasks"]["done"] == 2


@pytest.mark.parametrize("signals", [1, 2])
def test_ctrl_c_ends_a_run_of_very_many_very_short_tasks(place, signals):
    process = place.popen("run", "--name", "r", "--json", "--repeat", "30000", "true")
    journal = place.path / ".bursar" / "r" / "journal.db"
    try:
        _until(lambda: journal.exists() and _digest(journal).done > 100)
        for number in range(1, signals + 1):  # two at once would be one
            process.send_signal(signal.SIGINT)
            _until(lambda wanted=number: len(_recorded(journal, ev.StopRequested)) >= wanted)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert 100 < json.loads(out)["tasks"]["done"] < 30_000
    assert _recorded(journal, ev.ActionRefused) == []


def test_another_process_can_look_at_a_run_and_stop_it(place):
    place.script("slow.sh", "touch started.$1; sleep 60")
    process = place.popen("run", *BUDGET, "./slow.sh", ":::", "1", "2", "3", "4")
    _until(lambda: list(place.path.glob("started.*")))
    out, _ = place.bursar("status")
    assert "running" in out
    _, err = place.bursar("resume", "r", code=2)
    assert "is being run by process" in err
    place.bursar("stop", "r", "--now")
    process.communicate(timeout=60)
    assert process.returncode == 130
    _, err = place.bursar("stop", "r", code=2)
    assert "is not running" in err
    out, _ = place.bursar("status", "r")
    assert "interrupted" in out


def test_why_tells_decisions_with_reasons(place):
    place.bursar("run", *BUDGET, "true", ":::", "1", "2")
    out, _ = place.bursar("why", "r")
    assert "+1 small" in out
    assert "the plan has more" in out
    assert "run ended: done" in out
    reported = place.json("why", "r")
    assert {"at_s", "what", "why"} == set(reported[0])
    out, _ = place.bursar("why", "r", "--task", "2")
    assert "task 2 (true 2): done" in out


def test_a_run_can_be_exported(place):
    place.bursar("run", *BUDGET, "true", ":::", "1", "2")
    place.bursar("export", "r", "--joblog", "log")
    lines = (place.path / "log").read_text().splitlines()
    assert lines[0].startswith("Seq\tHost\tStarttime")
    assert len(lines) == 3
    out, _ = place.bursar("export", "r", "--events", "-")
    assert json.loads(out.splitlines()[0])["type"] == "RunCreated"


def test_a_joblog_has_tabs_and_newlines_as_gnu_parallel_writes_them(place):
    place.bursar("run", "--name", "r", "-q", "echo", ":::", "a\tb", "c\nd", "e\\tf")
    place.bursar("export", "r", "--joblog", "log")
    rows = read_joblog(place.path / "log")
    assert {row.seq: row.command for row in rows} == {
        1: "echo 'a\tb'", 2: "echo 'c\nd'", 3: "echo 'e\\tf'",
    }  # fmt: skip
    assert b"\techo 'a\tb'\n" in (place.path / "log").read_bytes()
    assert b"\techo 'c\0d'\n" in (place.path / "log").read_bytes()


def test_offers_and_simulate_answer_without_running_anything(place):
    out, _ = place.bursar("offers", "--market", "market.toml")
    assert "large" in out
    study = place.json(
        "simulate",
        "-m",
        "market.toml",
        "-b",
        "5",
        "--tasks",
        "50",
        "--runtime",
        "1s",
        "--runs",
        "3",
    )
    assert [run["status"] for run in study["runs"]] == ["done"] * 3
    assert study["cost"]["most"] <= 5


@pytest.mark.parametrize(
    "policy",
    [
        ("--provisioner", "bats"),
        ("--provisioner", "sample"),
        ("--placer", "fifo", "--replicator", "stochastic"),
        ("--replicator", "perfect"),
    ],
)
def test_any_policy_can_be_simulated(place, policy):
    words = ("-m", "market.toml", "-b", "5", "--tasks", "40", "--runtime", "1s", "--runs", "2")
    study = place.json("simulate", *words, *policy)
    end = "planned" if "sample" in policy else "done"
    assert [run["status"] for run in study["runs"]] == [end, end]


def test_a_policy_of_another_package_gets_the_fleet_in_real_and_simulated_runs(place):
    about = place.path / "elsewhere-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0")
    (about / "entry_points.txt").write_text("[bursar.provisioner]\nmine = elsewhere:Mine\n")
    place.write(
        "elsewhere.py",
        "from bursar.policies.provision.fixed import Fixed\n"
        "class Mine(Fixed):\n"
        "    def __init__(self, fleet):\n"
        "        assert fleet == {'large': 1}\n"
        "        super().__init__(fleet)\n",
    )
    place.environment["PYTHONPATH"] = str(place.path)
    mine = ("--fleet", "large=1", "--provisioner", "mine")
    place.bursar("run", *BUDGET, *mine, "true", ":::", "1")
    words = ("-m", "market.toml", "-b", "5", "--tasks", "4", "--runtime", "1s", "--runs", "1")
    (run,) = place.json("simulate", *words, *mine)["runs"]
    assert run["status"] == "done"


def test_an_option_after_the_command_goes_to_it_and_is_noted(place):
    _, err = place.bursar("run", "echo", "--budget", "5", ":::", "1")
    assert "note: the command 'echo' gets --budget; options of bursar come before it" in err
    for words in (("echo", "--seed", "{}"), ("echo", "--seed={}"), ("echo", "--else", "5")):
        _, err = place.bursar("run", *words, ":::", "1")
        assert "note:" not in err


def test_a_greeting_fits_on_narrow_lines_and_free_runs_have_no_cap_to_explain(place):
    _, err = place.bursar("run", *BUDGET, "true", ":::", "1")
    first, second, *_ = err.splitlines()
    assert first == "run r: 1 task, budget $2.50 (storage and transfer are not included)"
    assert second.startswith("Ctrl-C stops after the running tasks")
    _, err = place.bursar("run", "--name", "free", "true", ":::", "1", "2")
    assert err.splitlines()[0] == "run free: 2 tasks, free of charge"
    assert "storage" not in err


def test_a_new_budget_is_checked_even_if_nothing_is_left_to_do(place):
    place.bursar("run", *BUDGET, "true", ":::", "1")
    for budget, reported in [
        ("much", "not an amount"),
        ("-1", "negative"),
        ("0.001", "committed already"),
    ]:
        _, err = place.bursar("resume", "r", "--budget", budget, code=2)
        assert reported in err
    place.bursar("resume", "r", "--budget", "3")


def test_results_never_replace_files_that_were_there(place):
    (place.path / "results").mkdir()
    (place.path / "results" / "1").write_text("precious")
    _, err = place.bursar("run", "-o", "results", "true", ":::", "1", code=2)
    assert "results: has files already" in err
    assert (place.path / "results" / "1").read_text() == "precious"
    place.bursar("run", "-o", "fresh", "echo", ":::", "hello")
    assert (place.path / "fresh" / "1" / "stdout").read_text() == "hello\n"


@pytest.mark.parametrize("verb", ["run", "plan"])
def test_examples_in_the_help_stand_on_lines_of_their_own(place, verb):
    out, _ = place.bursar(verb, "--help")
    assert "\\b" not in out
    assert any(line.strip().startswith(f"bursar {verb} --market") for line in out.splitlines())


def test_completion_knows_the_verbs(place):
    out, _ = place.bursar("completion", "bash")
    assert "_BURSAR_COMPLETE" in out


def test_help_is_quick_and_lists_the_verbs(place):
    out, _ = place.bursar("--help")
    for verb in ("run", "resume", "status", "stop", "why", "export", "offers", "simulate"):
        assert verb in out


def _digest(journal):
    """How a run stands that may have just begun."""
    with suppress(JournalError):
        return load_digest(journal)
    return Digest("r", 0.0, 0, 0, 0, 0, 0, "USD", ZERO)


def _recorded(journal, kind):
    with JournalReader(journal) as reader:
        return reader.events_of([kind])


def _until(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def test_with_a_retry_tasks_that_always_fail_are_tried_twice_even_in_the_tail(place):
    words = ("run", "-m", "market.toml", "--budget", "3", "--name", "r", "--retries", "1")
    place.bursar(*words, "--repeat", "12", "--shell", "sleep 0.2; exit 1", code=3)
    rows = [
        line.split("\t") for line in place.bursar("export", "r", "--joblog", "-")[0].splitlines()
    ]
    failed = Counter(row[0] for row in rows[1:] if row[6] == "1")
    assert set(failed.values()) == {2}


def test_the_tasks_of_a_free_bag_start_in_order(place):
    place.bursar("run", "--name", "r", "--repeat", "40", "true")
    lines = place.bursar("export", "r", "--events", "-")[0].splitlines()
    events = [json.loads(line) for line in lines]
    started = [event["task"] for event in events if event["type"] == "AttemptStarted"]
    assert started == list(range(1, 41))


def test_a_run_that_nobody_executes_has_one_name_for_that(place):
    place.script("slow.sh", "touch started; sleep 60")
    process = place.popen("run", *BUDGET, "./slow.sh", ":::", "1")
    _until(lambda: list(place.path.glob("started")))
    process.kill()
    process.communicate(timeout=60)
    assert "abandoned" in place.bursar("status")[0]
    out, _ = place.bursar("status", "r")
    assert out.startswith("r: abandoned. 0 of 1 task done in ")
    assert "running" not in out


@pytest.mark.parametrize("retries", ["65535", "65536"])
def test_a_task_may_have_more_retries_than_two_bytes_count(place, retries):
    place.script("third.sh", "echo >> tries; test $(wc -l < tries) = 3")
    out, _ = place.bursar(
        "run", "--name", "r", "--json", "--retries", retries, "./third.sh", ":::", "1"
    )
    assert json.loads(out)["tasks"] == {"total": 1, "done": 1, "failed": 0}
    (created,) = _recorded(place.path / ".bursar" / "r" / "journal.db", ev.RunCreated)
    assert created.limits.retries == int(retries)
