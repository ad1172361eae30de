"""`bursar serve`, `submit`, `status --of` and `cancel` on the command line."""

import re
import signal
import time

import pytest

from bursar.cli.main import main
from bursar.web.service.running import noted_address


@pytest.fixture
def bursar(place, monkeypatch, capsys):
    """The command line in this process, which takes no time to start."""
    monkeypatch.chdir(place.path)
    monkeypatch.delenv("BURSAR_HOME", raising=False)

    def run(*words, code=0):
        with pytest.raises(SystemExit) as end:
            main(list(words))
        out, err = capsys.readouterr()
        assert end.value.code == code, err
        return out, err

    return run


PAID = ["--market", "market.toml", "--port", "0"]


def test_mistakes_are_reported_before_anything_is_made(place, bursar):
    for words, reported in (
        (["--port", "0"], "give users, for example --user ann=5/h"),
        ([*PAID, "--user", "ann"], "this market costs money: give 'ann' a budget, such as 5/h"),
        ([*PAID, "--user", "ann=5"], "the budget of 'ann' needs an interval"),
        (
            [*PAID, "--user", "ann=0.001/h"],
            "a budget of $0.00100/h buys no machine: the cheapest, small, costs $0.01 at least;"
            " raise that of 'ann'",
        ),
        ([*PAID, "--user", "ann=much/h"], "--user 'ann=much/h'"),
        ([*PAID, "--user", "../ann=5/h"], "cannot be the name of a user"),
        ([*PAID, "--user", "admin=5/h"], "that is the administrator"),
        ([*PAID, "--user", "ann=5/h", "--user", "ann=6/h"], "two accounts have the same name"),
        ([*PAID, "--user", "ann=5/h", "--host", "192.0.2.1"], "tokens would travel in the clear"),
        ([*PAID, "--user", "ann=5/h", "--provision", "nothing"], "no provisioner 'nothing'"),
        (["--resume", "nothing"], "no runs in"),
        (["--resume", "x", "--user", "ann=5/h"], "leave out --user"),
    ):
        _, err = bursar("serve", *words, code=2)
        assert reported in err and len(err.splitlines()) == 1, err
    assert not (place.path / ".bursar").exists() or not any((place.path / ".bursar").iterdir())


@pytest.fixture
def url(place):
    process = place.popen("serve", *PAID, "--user=ann=5/h", "--user=bob=5/h")
    home = place.path / ".bursar" / "service"
    while (noted := noted_address(home)) is None:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    yield noted.url
    process.send_signal(signal.SIGQUIT)
    process.communicate(timeout=60)


def test_work_is_submitted_shown_and_cancelled(place, url, bursar):
    place.write(
        "flow.yaml", "tasks: {one: {run: 'echo said; echo one > part', files: {out: part}}}"
    )
    out, err = bursar("submit", "flow.yaml", "--to", url, "--user", "ann", "--wait")
    assert (out, "work 1: done, 1 of 1 task done" in err) == ("1\n", True)
    of_bob = ["--to", url, "--user", "bob"]
    words = ["submit", *of_bob, "--key", "mine", "sleep {1}", ":::", "100", "99"]
    assert bursar(*words)[0] == bursar(*words)[0] == "2\n"
    bursar("submit", *of_bob, "--shell", "--wait", "--repeat", "1", "exit 4", code=3)
    out, _ = bursar("status", "--of", url, "--user", "bob")
    rows = [line.split()[:3] for line in out.splitlines()[2:]]
    assert [row[0] for row in rows] == ["2", "3"] and rows[1] == ["3", "failed", "0/1"]
    out, _ = bursar("status", "3", "--of", url, "--user", "bob")
    assert "failed: task 1 (exit code 4): exit 4" in out
    assert "see more: bursar logs 1 --work 3" in out
    out, _ = bursar("logs", "one", "--work", "1", "--of", url, "--user", "ann")
    assert out == "said\n"
    out, _ = bursar("status", "--of", url, "--user", "bob")
    assert re.match(r"\w+: \$\d+\.\d\d committed of \$5.00/h, ", out)
    _, err = bursar("cancel", "--of", url, "--user", "ann", "2", code=2)
    assert err == "bursar: there is no such work\n"
    _, err = bursar("cancel", "--of", url, "--user", "bob", "2")
    assert err == "work 2: cancelled, 0 of 2 done\n"
    _, err = bursar("submit", "--to", url, "echo", ":::", "x", code=2)
    assert "whose token? give --user with one of ann, bob" in err
    _, err = bursar("serve", *PAID, "--user=ann=5/h", "--user=bob=5/h", code=2)
    assert "run service is being run by process" in err
    assert re.search(r"service +running .* 2 accounts ", bursar("status")[0])


def test_a_service_is_not_confused_with_another(place, url, bursar):
    other = ["--market", "market.toml", "--port", "0", "--user=ann=5/h"]
    _, err = bursar("serve", *other, code=2)
    assert "has a user 'bob', too: name all of them" in err
    _, err = bursar("serve", *other, "--user=bob=5/h", "--place", "fifo", code=2)
    assert "was started with other policies" in err
    _, err = bursar("resume", "service", code=2)
    assert "bursar serve --resume service" in err
    words = ["--to", url, "--token-file", "nothing", "echo", ":::", "1"]
    _, err = bursar("submit", *words, code=2)
    assert "the token in 'nothing' cannot be read" in err
