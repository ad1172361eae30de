"""The examples of the README and of docs/ do what they show.

A page is read from top to bottom, in a directory of its own that has the files of examples/:

- a block with a file name after its language (```toml market.toml) is that file;
- a `console` block is a session: what follows `$ ` is run by bash, `> ` carries it on, and the rest
  is what it prints. All sessions of a page are one shell;
- a `python` block without a file name is run as a script.

In what is printed, `...` stands for anything, on a line of its own for any lines. A duration
(4.7 s) and a clock (0:00:04) stand for any other, since no two runs are alike, and so does every
word that a comment before the block names: <!-- varies: 128 72 -->. White space and empty lines do
not count.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

from bursar.cli.main import COMPILING

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "systems").glob("*.md")),
]
BLOCK = re.compile(
    r"^(?:<!-- varies: (?P<varies>[^\n]*) -->\n)?"
    r"```(?P<kind>\w+)(?: +(?P<file>\S+))?\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CHANGING = r"\.\.\.|\b\d+(?:\.\d+)? (?:us|ms|s|min|h)\b|\b\d+:\d\d:\d\d\b"
WAITING = re.compile(r"[\d,]+ of [\d,]+ runs? simulated, about .* to go")
MARK = "---- exit code"


def name_of(path):
    """Of a page, as its test is called: `run`, `systems/bats`."""
    folder = "systems/" if path.parent.name == "systems" else ""
    return f"{folder}{path.stem}"


class Page:
    """A page being executed in its directory."""

    def __init__(self, path, directory):
        self.path = path
        self.directory = directory
        self.environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "NO_COLOR": "1",
            "COLUMNS": "100",
        }
        self.environment.pop("BURSAR_HOME", None)

    def execute(self):
        with self._start("bash", "--norc", stdin=subprocess.PIPE) as self.shell:
            for block in BLOCK.finditer(self.path.read_text()):
                if block["file"]:
                    file = self.directory / block["file"]
                    file.parent.mkdir(exist_ok=True)
                    file.write_text(block["text"])
                elif block["kind"] == "console":
                    self._session(block["text"], (block["varies"] or "").split())
                elif block["kind"] == "python":
                    self._script(block["text"])

    def _start(self, *words, **options):
        return subprocess.Popen(
            words,
            cwd=self.directory,
            env=self.environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **options,
        )

    def _session(self, text, varies):
        for command, expected in commands(text):
            printed = self._type(command)
            assert fits(lines(expected), lines(printed), varies), (
                f"{self.path.name}: $ {command}\n--- shown\n{expected}\n--- printed\n{printed}"
            )

    def _type(self, command):
        """What a command prints; the next one finds its exit code in `$?`."""
        self.shell.stdin.write(
            f'{{ {command}\n}} </dev/null; code=$?; echo "{MARK}"; (exit $code)\n'
        )
        self.shell.stdin.flush()
        printed = []
        for line in self.shell.stdout:
            if line.endswith(f"{MARK}\n"):
                return "".join([*printed, line.removesuffix(f"{MARK}\n")])
            printed.append(line)
        raise AssertionError(f"{self.path.name}: $ {command}\nended the shell: {''.join(printed)}")

    def _script(self, text):
        (self.directory / "script.py").write_text(text)
        with self._start(sys.executable, "script.py") as script:
            printed = script.communicate()[0]
        assert script.returncode == 0, f"{self.path.name}:\n{text}\n--- printed\n{printed}"


def commands(text):
    """The commands of a session, each with what is shown under it."""
    found = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", [])
        else:
            found[-1][1].append(line)
    return [(command, "\n".join(shown)) for command, shown in found]


def lines(text):
    """Those that count: not what a slow computer, or one new to bursar, prints while you wait."""
    return [
        line
        for line in text.splitlines()
        if line.strip() and line != COMPILING and not WAITING.fullmatch(line)
    ]


def fits(shown, printed, varies=()):
    """Whether lines that were printed are what is shown."""
    if not shown:
        return not printed
    first, *rest = shown
    if first.strip() == "...":
        return any(fits(rest, printed[at:], varies) for at in range(len(printed) + 1))
    if not printed or not _pattern(first, varies).fullmatch(" ".join(printed[0].split())):
        return False
    return fits(rest, printed[1:], varies)


def _pattern(line, varies):
    changing = "|".join([CHANGING, *(rf"\b{re.escape(word)}\b" for word in varies)])
    fixed = re.split(changing, " ".join(line.split()))
    return re.compile(".*?".join(re.escape(part) for part in fixed))


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_the_examples_of_a_page_do_what_they_show(path, tmp_path):
    copytree(ROOT / "examples", tmp_path, ignore=ignore_patterns(".bursar"), dirs_exist_ok=True)
    Page(path, tmp_path).execute()


def test_what_is_shown_must_be_printed():
    assert fits(["a 4.7 s b", "...", "end"], ["a  12 ms b", "x", "y", "end"])
    assert fits(["72 of 200"], ["101 of 200"], ["72"])
    assert not fits(["72 of 200"], ["101 of 200"])
    assert not fits(["a", "b"], ["a"])
    assert not fits(["a"], ["a", "b"])


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", path.read_text()):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "systems").glob("*.md")), ids=name_of)
def test_every_system_has_an_example_that_is_executed(path):
    assert [block["kind"] for block in BLOCK.finditer(path.read_text())].count("console") >= 1
