"""The same words after `parallel -k` and after `bursar run`: the same commands, task by task.

Most pairs print their commands (`--dry-run` on both sides), some are executed. A command of one
word is for GNU parallel always a text for the shell, which bursar takes apart itself; several words
are an argument list to bursar, as with `parallel -q`.
"""

import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from shutil import which

import pytest

from bursar.cli.main import bursar
from bursar.formats.joblog import read_joblog

FILES = {
    "f1": "l1\nl2\n\nl4",
    "f3": "x1\nx2\n",
    "paths": "a/b.c\n/x/y.tar.gz\nplain\n.hid\nd.d/e\n",
    "odd": 'two words\n  spaced  \n$HOME\n`id`\na\'b\n"q"\n*\n~\na;b|c&d\n\\\n#x\n-n\n',
    "table.csv": "1,a\n2, b \n3 ,c\n",
    "table.tsv": "1\ta b\n2\tc\n",
    "nul": "one\0two words\0three\nlines\0",
    "empty": "",
}

# options | words; `q`: several words, as they stand; `s`: for a shell; `<file`: standard input
PAIRS = """
 | echo ::: a b c
 | echo {} ::: a b c
 | echo x{}y ::: a b
 | echo {} {} ::: a b
 | echo {1} ::: a b
 | echo {.} ::: a/b.c d
 | echo {/} ::: a/b.c d
 | echo {//} ::: a/b.c d
 | echo {/.} ::: a/b.c d
 | echo {#} ::: a b c
 | echo {#}:{} ::: a b c
 | echo {1.} {1/} {1//} {1/.} ::: a/b.c x/y.tar.gz
 | echo {.} {/} {//} {/.} :::: paths
 | echo {} {.} {/} {//} {/.} {#} :::: paths
 | echo ::: a b ::: c d
 | echo {} ::: a b ::: c d
 | echo {1} {2} ::: a b ::: c d
 | echo {2} {1} ::: a b ::: c d
 | echo {2}-{1}-{2} ::: a b ::: c d e
 | echo {1} ::: a b ::: c d
 | echo {2} ::: a b ::: c d
 | echo {1} {2} {3} ::: a b ::: c d ::: e f
 | echo {3}{2}{1} {#} ::: a b ::: c ::: e f
 | echo {.} ::: a/b.c ::: c.d/e.f
 | echo {/} {1/.} {2//} ::: a/b.c ::: c.d/e.f
 | echo {1} {2} ::: a b c :::+ d e f
 | echo {1} {2} ::: a b c :::+ d e
 | echo {1} {2} ::: a b :::+ d e f g
 | echo {} ::: a b :::+ c d
 | echo {1} {2} {3} ::: a b :::+ d e ::: x y
 | echo {1} {2} {3} ::: x y ::: a b :::+ d e
 | echo {1} {2} {3} ::: a b :::+ c d :::+ e f
 | echo :::: f1
 | echo [{}] :::: f1
 | echo {1} {2} :::: f1 f3
 | echo {1} {2} :::: f3 f3
 | echo {1} {2} :::: f1 ::::+ f3
 | echo {1} {2} {3} ::: a b ::::+ f1 f3
 | echo {1} {2} {3} ::: a b :::: f1 ::::+ f3
 | echo {1} {2} ::: a b :::: f3
 | echo {1} {2} :::: f3 ::: a b
 | echo {-1} ::: a b
 | echo {-1} {-2} ::: a b ::: c d
 | echo {-1.} {-1/} {-1//} {-1/.} ::: x ::: a/b.c
 | echo {-2} {1} {-1} {2} ::: a b ::: c
 | echo {-3} ::: a b ::: c ::: d
 | echo {name} ::: a
 | echo {print} {} ::: a
 | echo {a,b} {} ::: x
 | echo {1} ::: {2} {} {#}
 | echo ::: {} {1} {.}
 | echo {} -n --x ::: a
 | echo -n ::: a b
 | echo {} ::: -n --version -
 | echo {} ::: 1 22 333
 | echo ::: 1 1 1
 | echo ::: ''
 | echo {} ::: '' a
 | echo [{}] ::: '' a
 | echo ::: 'a b' '  c  '
 | echo {} ::: 'a"b' "a'b" 'a\\b' 'a$b'
 | echo {} ::: '*' '?' '[a]' '~' '#x' '!x' ';' '|' '&' '(' ')' '<' '>'
 | echo x{}y ::: 'a b' "a'b"
 | echo pre-{.}-post ::: 'a b.c d'
 | echo {/} {//} ::: '/a b/c d.e'
 | echo {} ::: ü 日本 'ä ö'
 | 'echo {}' ::: a b
 | 'echo   {}    x' ::: a b
 | 'echo "two words" {}' ::: a b
 | "echo 'two words' {}" ::: a b
 | 'echo a\\ b {}' ::: x
 | 'echo {2} {1}' ::: a ::: b
 | 'echo {#} {.}' ::: a.b c.d
 | 'echo {}{}' ::: a
 | 'echo -e {}' ::: a
q | echo 'two words' {} ::: a b
q | echo '$HOME' '`id`' {} ::: a
q | echo 'a | b' '>x' ';' {} ::: a
q | echo "a'b" 'c"d' {} ::: x
q | echo 'a\\b' {} ::: x
q | echo '' {} ::: x
q | printf '%s %s\\n' {1} {2} ::: a b ::: c
s | 'echo {} | tr a b' ::: a b
s | 'echo {}; echo {#}' ::: a b
s | 'echo {} && true || false' ::: a
s | 'echo {.} > {/.}.out' ::: a/b.c
s | 'for i in 1 2; do echo $i {}; done' ::: a b
s | 'echo $((1 + {}))' ::: 1 2
s | 'echo {1} {2} 2>&1' ::: a ::: b
 | echo < f1
 | echo {} {#} < f3
 | echo [{}] < f1
 | echo {/.} {//} < paths
 | 'echo x {}' < f3
 | echo < odd
 | echo {} :::: odd
-a f3 | echo
-a f3 | echo {} x
-a f1 | echo [{}]
-a f3 -a f1 | echo {1} {2}
-a f3 | echo {1} {2} ::: a b
-a - | echo {} < f3
--arg-file f3 | echo
-0 | echo < nul
-0 -a nul | echo {} {#}
--null | echo [{}] < nul
--colsep , | echo {1} {2} ::: a,b c,d
--colsep , | echo {2} {1} :::: table.csv
--colsep , | echo :::: table.csv
--colsep , | echo {} ::: a,b
--colsep , | echo {-1} {1.} ::: x.y,b
-C , | echo {2}{1} < table.csv
--colsep '\\t' | echo {2} {1} :::: table.tsv
--colsep ' +' | echo {1}:{2} ::: 'a  b' 'c d'
--colsep '[,;]' | echo {3}{2}{1} ::: 'a,b;c'
--colsep , | echo {1}-{2}-{3}-{4} ::: a,b ::: x,y
--colsep , -a table.csv | echo {1}={2}
-j 2 | echo {} ::: a b c
-j2 | echo {} ::: a b c
-j 100% | echo {} ::: a b c
-j +1 | echo {} ::: a
 | echo :::
 | echo :::: empty
 | echo < empty
"""

EXECUTED = """
 | echo ::: a b c
 | 'echo "two words" {}' ::: 'a  b' "it's"
q | printf '%s|' {2} {1} x ::: 'a b' ::: c 'd  e'
s | 'echo {} | tr a-z A-Z; echo $((3 * {#}))' ::: abc 'd e'
 | cat :::: names
-j 2 | printf '[%s]' < odd
--colsep , | 'echo {2} {1}' :::: table.csv
q -0 | printf '<%s>' < nul
"""


def cases(text):
    found = []
    for line in text.strip("\n").splitlines():
        before, _, words = line.partition("|")
        options = shlex.split(before)
        how = options.pop(0) if options[:1] in (["q"], ["s"]) else ""
        words, _, given = words.partition(" < ")
        found.append(pytest.param(how, options, shlex.split(words), given.strip(), id=line.strip()))
    return found


@cache
def is_installed():
    """Another program has the same name."""
    if which("parallel") is None:
        return False
    reported = subprocess.run(
        ["parallel", "--version"], capture_output=True, text=True, check=False
    )
    return reported.stdout.startswith("GNU parallel")


@pytest.fixture(scope="module")
def parallel_home(tmp_path_factory):
    """One for all: GNU parallel measures the computer when it finds none."""
    home = tmp_path_factory.mktemp("parallel")
    (home / "will-cite").touch()
    return home


@pytest.fixture
def here(tmp_path, monkeypatch, parallel_home):
    if not is_installed():
        pytest.skip("GNU parallel is not installed: as root, make peers installs it")
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "names").write_text("f3\nf1\n")
    monkeypatch.setenv("PARALLEL_HOME", str(parallel_home))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("BURSAR_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_parallel(how, options, words, given, *more):
    with Path(given or os.devnull).open() as standard_input:
        peer = subprocess.run(
            ["parallel", "-k", *more, *(["-q"] if how == "q" else []), *options, *words],
            stdin=standard_input, capture_output=True, text=True, check=False,
        )  # fmt: skip
    return peer.returncode, peer.stdout


class StandardInput:
    """A file as standard input of this very process, for a moment."""

    def __init__(self, name, monkeypatch):
        self.name, self.monkeypatch = name, monkeypatch

    def __enter__(self):
        self.saved = os.dup(0)
        descriptor = os.open(self.name or os.devnull, os.O_RDONLY)
        os.dup2(descriptor, 0)
        os.close(descriptor)
        self.file = open(0, closefd=False)
        self.monkeypatch.setattr(sys, "stdin", self.file)

    def __exit__(self, *_):
        os.dup2(self.saved, 0)
        os.close(self.saved)


def taken_apart(text):
    """Commands as lists of words: the two sides quote in ways of their own."""
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " ", True, ""
    return list(lexer)  # with the newlines, which no argument has but those that end with a NUL


def test_there_are_a_hundred_pairs():
    assert len(cases(PAIRS)) + len(cases(EXECUTED)) >= 100


@pytest.mark.parametrize(("how", "options", "words", "given"), cases(PAIRS))
def test_the_commands_are_the_same(here, monkeypatch, capfd, how, options, words, given):
    code, theirs = by_parallel(how, options, words, given, "--dry-run")
    shell = ["--shell"] if how == "s" else []
    with StandardInput(given, monkeypatch):
        ours = bursar.main(["run", "--dry-run", *shell, *options, *words], standalone_mode=False)
    assert (ours, code) == (0, 0)
    assert taken_apart(capfd.readouterr().out) == taken_apart(theirs)


@pytest.mark.parametrize(("how", "options", "words", "given"), cases(EXECUTED))
def test_what_commands_print_is_the_same(here, how, options, words, given):
    code, theirs = by_parallel(how, options, words, given)
    shell = ["--shell"] if how == "s" else []
    with Path(given or os.devnull).open() as standard_input:
        own = subprocess.run(
            [sys.executable, "-m", "bursar", "run", "-q", "--name", "r", *shell, *options, *words],
            stdin=standard_input, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (own.returncode, own.stderr) == (code, "")
    outputs = here / ".bursar" / "r" / "outputs"
    tasks = sorted((path for path in outputs.iterdir() if path.name.isdecimal()),
                   key=lambda path: int(path.name))  # fmt: skip
    assert "".join((path / "stdout").read_text() for path in tasks) == theirs


def test_a_failure_is_one_on_both_sides(here):
    words = ["sh -c 'exit {}'", ":::", "0", "3", "0"]
    code, _ = by_parallel("", [], words, "")
    own = subprocess.run([sys.executable, "-m", "bursar", "run", "-q", *words], check=False)
    assert (code, own.returncode) == (1, 3)


def test_job_logs_tell_the_same(here):
    words = ["printf", "%s", ":::", "a\tb", "it's", "$x"]
    by_parallel("q", ["--joblog", "theirs"], words, "")
    run = ["run", "-q", "--name", "r", *words]
    for line in (run, ["export", "r", "--joblog", "ours"]):
        subprocess.run([sys.executable, "-m", "bursar", *line], check=True)
    reported = [
        {row.seq: (shlex.split(row.command), row.exitval) for row in read_joblog(here / name)}
        for name in ("theirs", "ours")
    ]
    assert reported[0] == reported[1]


def test_no_two_tasks_that_run_at_once_have_the_same_slot(here):
    script = "test -e slot{%} && exit 9; touch slot{%}; sleep 0.1; rm slot{%}; echo {%}"
    words = ["-j", "3", script, ":::", *map(str, range(12))]
    code, theirs = by_parallel("", [], words, "")
    own = subprocess.run(
        [sys.executable, "-m", "bursar", "run", "-q", "--name", "r", "--shell", *words], check=False
    )
    assert (code, own.returncode) == (0, 0)
    outputs = (here / ".bursar" / "r" / "outputs").glob("*/stdout")
    assert {path.read_text() for path in outputs} == {"1\n", "2\n", "3\n"}
    assert set(theirs.split()) == {"1", "2", "3"}


@pytest.mark.parametrize("word", ["{= s/a/b/ =}", "{1= uc =}", "{..}", "{/..}", "{+/}", "{0#}"])
@pytest.mark.parametrize("command", [["echo", "WORD"], ["echo WORD"]])
def test_what_bursar_does_not_know_is_refused_and_nothing_runs(here, word, command):
    words = [one.replace("WORD", word) for one in command]
    own = subprocess.run(
        [sys.executable, "-m", "bursar", "run", *words, ":::", "a"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert own.returncode == 2
    assert own.stderr == (
        f"bursar: '{word}': bursar has no such placeholder; if the braces are text, put the"
        " command into a script\n"
    )
    assert not (here / ".bursar").exists()
