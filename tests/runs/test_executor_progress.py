"""The progress line of an executor, in a real terminal: what a program prints stays whole."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import textwrap
from types import SimpleNamespace

import pytest

MARKET = '[[offer]]\nname = "small"\nprice = "0.01"\nbilling = "60s"\nlimit = 2\n'
BEGIN = f"""
import sys, time
from bursar import BudgetExecutor, parse_market
market = parse_market({MARKET!r})
"""


def in_terminal(program, directory, columns=80):
    """What a terminal shows at the end, its lines, and all that was written to it."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "BURSAR_HOME": str(directory / "runs")}
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(BEGIN + program)],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=directory, env=environment,
    )  # fmt: skip
    os.close(theirs)
    written = b""
    while True:
        try:
            part = os.read(ours, 65_536)
        except OSError:  # nobody has the other side any more
            break
        if not part:
            break
        written += part
    os.close(ours)
    assert process.wait(60) == 0, written
    text = written.decode()
    return screen_of(text), text


def screen_of(text):
    """As a terminal shows it that knows carriage returns and new lines."""
    shown, column = [""], 0
    for letter in text:
        if letter == "\r":
            column = 0
        elif letter == "\n":
            shown.append("")
            column = 0
        else:
            shown[-1] = shown[-1][:column].ljust(column) + letter + shown[-1][column + 1 :]
            column += 1
    return [one.rstrip() for one in shown]


def test_the_line_tells_calls_money_and_machines_and_ends_with_the_run(tmp_path):
    screen, written = in_terminal(
        """
with BudgetExecutor(market, budget="1.00", fleet={"small": 2}, progress=True) as pool:
    futures = [pool.submit(time.sleep, 0.05) for _ in range(40)]
    for future in futures: future.result()
    time.sleep(0.5)
print("after")
""",
        tmp_path,
    )
    last, after = [one for one in screen if one][-2:]
    assert after == "after"
    assert last.startswith("40/40 ##########")
    assert "$0.02 committed of $1.00" in last
    drawn = [one for one in re.split(r"[\r\n]", written) if "/40 " in one]
    assert any("2 small" in one or "2 machines" in one for one in drawn)
    assert all(len(one) <= 79 for one in drawn), "the line fits 80 columns"


def test_what_a_program_prints_meanwhile_stays_whole(tmp_path):
    screen, _ = in_terminal(
        """
with BudgetExecutor(market, budget="1.00", fleet={"small": 2}, progress=True) as pool:
    futures = [pool.submit(time.sleep, 0.05) for _ in range(30)]
    for number, future in enumerate(futures):
        future.result()
        print("result", number)
        if number == 10:
            print("a part", end=" ", flush=True)
            time.sleep(0.6)
            print("of a line", file=sys.stderr)
print("after")
""",
        tmp_path,
    )
    wanted = [f"result {number}" for number in range(30)]
    wanted[11:11] = ["a part of a line"]
    assert [one for one in screen if one in wanted] == wanted
    others = [one for one in screen if one and one not in wanted]
    assert others[-1] == "after"
    assert len(others) == 2, "beside it, the line as it was at the end"


def test_nothing_is_written_where_nobody_sees_it(tmp_path):
    program = BEGIN + (
        "with BudgetExecutor(market, budget='1.00', progress=True) as pool:\n"
        "    print(pool.submit(pow, 2, 10).result())\n"
    )
    environment = {**os.environ, "BURSAR_HOME": str(tmp_path / "runs")}
    found = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, check=True, cwd=tmp_path, env=environment,
    )  # fmt: skip
    assert (found.stdout, found.stderr) == ("1024\n", "")


def test_a_line_is_shown_only_if_asked_for(tmp_path):
    program = "with BudgetExecutor() as pool: print(pool.submit(pow, 2, 3).result())"
    screen, _ = in_terminal(program, tmp_path)
    assert [one for one in screen if one] == ["8"]


def test_streams_of_the_program_are_its_own_again_and_a_child_may_print(tmp_path):
    screen, _ = in_terminal(
        """
import os
before = sys.stdout, sys.stderr
with BudgetExecutor(market, budget="1.00", progress=True) as pool:
    future = pool.submit(time.sleep, 0.5)
    child = os.fork()
    if not child:
        print("the child")
        os._exit(0)
    os.waitpid(child, 0)
    future.result()
print((sys.stdout, sys.stderr) == before)
""",
        tmp_path,
    )
    assert any("the child" in one for one in screen)
    assert [one for one in screen if one][-1] == "True"


class Notebook:
    """What IPython has in a notebook, as far as it is used here."""

    def __init__(self):
        self.kernel, self.outputs = object(), []

    def display(self, shown, *, display_id):
        assert display_id
        self.outputs.append(shown._repr_html_())
        return self

    def update(self, shown):
        self.outputs[-1] = shown._repr_html_()


def test_in_a_notebook_one_output_changes_in_place(tmp_path, monkeypatch):
    from bursar import BudgetExecutor, parse_market

    notebook = Notebook()
    ipython = SimpleNamespace(get_ipython=lambda: notebook, display=notebook)
    monkeypatch.setenv("BURSAR_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    with BudgetExecutor(parse_market(MARKET), budget="1.00", progress=True) as pool:
        assert pool.submit(pow, 2, 3).result() == 8
    (output,) = notebook.outputs
    assert 'value="1" max="1"' in output
    assert "$0.01 committed of $1.00" in output
    assert "#" not in output


@pytest.mark.parametrize("wrong", ["", "0"])
def test_the_screen_of_these_tests_knows_carriage_returns(wrong):
    assert screen_of(f"{wrong}\rabc\r  \nx") == ["  c", "x"]
