"""What reaches a terminal: no control code from outside, lines that fit, questions on their own."""

import json
import re
import signal

import pytest
from rich.cells import cell_len

from bursar.cli.common import print_json

TITLE, CLEAR = "\x1b]0;owned\x07", "\x1b[2J\x1b[31m"
EVIL = f"{TITLE}{CLEAR}\x9b31m\x08\x7f"
OURS = re.compile(r"\x1b\[(\?25[lh]|[0-9;]*[mKA])")
"""what rich writes: colours, the cursor hidden and shown, lines removed"""

SPOTS = """
[[offer]]
name = "spot"
price = "0.0001"
billing = "1s"
limit = 4
pool = "unreliable"
[[offer]]
name = "sure"
price = "0.0004"
billing = "1s"
limit = 1
"""


EVIL_MARKET = """
date = "\\u001b]0;owned\\u0007"
[[offer]]
name = "x"
price = "1"
"""


def unsafe(text):
    """Control codes that bursar has not written itself."""
    return re.findall(r"[\x00-\x08\x0b-\x0c\x0e-\x1f\x7f-\x9f]", OURS.sub("", text))


def test_no_control_code_of_a_task_reaches_the_terminal(place):
    place.write("say.py", f"import sys; sys.stderr.write({EVIL!r} + sys.argv[1]); sys.exit(3)")
    words = ("--name", "evil", "python3", "say.py")
    with place.terminal("run", *words, ":::", f"a{TITLE}", f"b{CLEAR}", columns=100) as terminal:
        text = terminal.end(code=3)
    assert r"\x1b]0;owned\x07" in text
    assert unsafe(text) == []
    for verb in (("status", "evil"), ("status",), ("why", "evil"), ("why", "--task", "1", "evil")):
        with place.terminal(*verb, columns=100) as terminal:
            assert unsafe(terminal.end()) == [], verb
    for flag in ("--joblog", "--events"):
        with place.terminal("export", "evil", flag, "-") as terminal:
            assert unsafe(terminal.end()) == [], flag


@pytest.mark.parametrize(
    "words",
    [
        ("run", f"no{EVIL}"),
        ("run", "--market", f"no{EVIL}.toml", "true", ":::", "1"),
        ("run", f"--{EVIL}"),
        ("run", "--name", EVIL, "true", ":::", "1"),
        ("status", EVIL),
        ("plan", "--market", "market.toml", "--tasks", "3", "--assume", f"{EVIL}=3s"),
        ("run", "--output", f"out{EVIL}", "true", ":::", "1"),
        ("show", f"{EVIL}.yaml"),
        ("offers", "--market", "evil.toml"),
        ("show", "evil.yaml", "--json"),
    ],
)
def test_no_control_code_of_a_name_or_file_reaches_the_terminal(place, words):
    place.write("evil.toml", EVIL_MARKET)
    place.write("evil.yaml", 'tasks: {"a\\u009b31mb": {runtime: 3s}}')
    with place.terminal(*words) as terminal:
        text = terminal.end(code=2)
    assert unsafe(text) == []
    assert "Traceback" not in text


def test_json_keeps_its_text_without_a_control_code(capsys):
    text = {"why": f"a{EVIL}b"}
    print_json(text)
    printed = capsys.readouterr().out
    assert unsafe(printed) == []
    assert json.loads(printed) == text


@pytest.mark.parametrize("columns", [80, 50])
def test_the_live_line_fits_and_says_what_a_stop_waits_for(place, columns):
    words = (
        "run",
        "-m",
        "market.toml",
        "-b",
        "100",
        "--fleet",
        "small=2,large=1",
        "--name",
        "long",
    )
    with place.terminal(*words, "sleep", ":::", *["1.5"] * 300, columns=columns) as terminal:
        terminal.read("3/300")
        terminal.process.send_signal(signal.SIGINT)
        terminal.read("waiting for 3 tasks to finish")
        terminal.end(code=130)
        live = [line for line in terminal.lines() if re.match(r"\d+/300", line)]
    assert len(live) > 3
    assert max(map(cell_len, live)) < columns


def test_somebody_is_asked_on_a_line_of_its_own(place):
    place.write("spots.toml", SPOTS)
    words = ("run", "-m", "spots.toml", "-b", "1", "--prefer", "ask", "--name", "asked")
    times = ["0.2", "0.3", "0.4", "0.5"] * 3 + ["3"] * 3
    with place.terminal(*words, "sleep", ":::", *times, columns=100) as terminal:
        terminal.read("number (Enter for ")
        asked = next(line for line in terminal.lines() if "number (Enter" in line)
        assert asked.startswith("number (Enter for ")
        offered = [line.split() for line in terminal.lines() if re.match(r" *\d+ +\d+ ", line)]
        before = terminal.text.count("/15 ")
        terminal.type("1\n")
        while terminal.text.count("/15 ") < before + 3:  # the live line is back
            terminal.more()
        terminal.process.send_signal(signal.SIGQUIT)
        terminal.end(code=130)
    costs = [word for row in offered for word in row if word.startswith("$")]
    assert costs
    assert "$0.00" not in costs
    assert all(len(cost.lstrip("$0.")) >= 2 for cost in costs), "three significant digits"
    assert "chosen by hand" in place.bursar("why", "asked")[0]
