"""Bad input gets one clear line that says how to mend it, and the right exit code."""

import json
import os
import resource
import sqlite3

import pytest

RUN = ("run", "--market", "market.toml", "--budget", "2.50")


def one_line(err):
    lines = [line for line in err.strip().splitlines() if line.strip()]
    assert len(lines) == 1, err
    return lines[0]


@pytest.mark.parametrize(
    ("words", "reported"),
    [
        (("--market", "none.toml", "--budget", "1", "true", ":::", "1"), "none.toml"),
        (("--market", "market.toml", "true", ":::", "1"), "--budget"),
        (("--market", "market.toml", "--budget", "0.001", "true", ":::", "1"), "costs $0.01"),
        (("--market", "market.toml", "--budget", "much", "true", ":::", "1"), "much"),
        (("--market", "market.toml", "--budget", "-1", "true", ":::", "1"), "budget"),
        (("--market", "market.toml", "--budget", "1", "--fleet", "huge=1", "true", ":::", "1"),
         "no offer 'huge'"),
        (("--market", "market.toml", "--budget", "1", "--fleet", "small=9", "true", ":::", "1"),
         "limit"),
        (("--market", "market.toml", "--budget", "1", "true", ":::", "a", ":::"), "no argument"),
        (("--market", "market.toml", "--budget", "1", "true"), ":::"),
        (("--market", "market.toml", "--budget", "1"), "command"),
        (("--market", "market.toml", "--budget", "1", "./nowhere.sh", ":::", "1"),
         "'./nowhere.sh' does not exist"),
        (("--market", "market.toml", "--budget", "1", "./grid.csv", ":::", "1"), "executable"),
        (("--params", "grid.csv", "echo {gamma}"), "gamma"),
        (("--params", "none.csv", "echo {a}"), "none.csv"),
        (("--params", "broken.jsonl", "echo {a}"), "broken.jsonl"),
        (("--timeout", "soon", "true", ":::", "1"), "soon"),
        (("-j", "99999999", "true", ":::", "1"), "are too many at once; use at most 1,000"),
        (("--placer", "best", "true", ":::", "1"), "no placer 'best'"),
        (("--replicator", "perfect", "true", ":::", "1"), "only bursar simulate can use it"),
        (("--placer", "fitting", "true", ":::", "1"), "goes with the provisioner 'bats' only"),
        (("--name", "../x", "true", ":::", "1"), "../x"),
        (("--output", ".", "true", ":::", "1"), "has files already"),
        (("nowhere.toml",), "nowhere.toml"),
        (("broken.toml",), "broken.toml"),
        (("--market", "broken.toml", "--budget", "1", "true", ":::", "1"), "TOML"),
        (("--market", "negative.toml", "--budget", "1", "true", ":::", "1"), "negative"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_in_one_line_before_anything_runs(place, words, reported):
    place.write("grid.csv", "alpha\n1\n")
    place.write("broken.jsonl", '{"a": 1}\n{"a": \n')
    place.write("broken.toml", "command = \n")
    place.write("negative.toml", '[[offer]]\nname = "a"\nprice = "-1"\n')
    out, err = place.bursar("run", *words, code=2)
    assert reported in one_line(err)
    assert out == ""
    assert not (place.path / ".bursar").exists(), "no run is made by a mistake"


def test_an_entry_of_another_package_that_cannot_be_imported(place):
    about = place.path / "elsewhere_policies-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere-policies\nVersion: 1.0")
    (about / "entry_points.txt").write_text("[bursar.placer]\nmine = elsewhere_policies:Mine\n")
    place.write("elsewhere_policies.py", "raise RuntimeError('two\\nlines')\n")
    place.environment["PYTHONPATH"] = str(place.path)
    _, err = place.bursar("run", "--placer", "mine", "true", ":::", "1", code=2)
    reported = (
        "the placer 'mine' of the package elsewhere-policies cannot be imported: RuntimeError"
    )
    assert reported in one_line(err)


def test_an_unknown_option_is_a_usage_error(place):
    _, err = place.bursar("run", "--bugdet", "1", "true", code=2)
    assert "--bugdet" in one_line(err)
    assert "see bursar run --help" in err
    _, err = place.bursar("simulate", "--runs", "0", code=2)
    assert "--runs" in one_line(err)


def test_runs_that_do_not_exist(place):
    _, err = place.bursar("resume", code=2)
    assert "no runs" in one_line(err)
    place.bursar(*RUN, "--name", "amber", "-q", "true", ":::", "1")
    _, err = place.bursar("why", "ember", code=2)
    assert "amber" in one_line(err)


def test_a_directory_whose_name_is_not_utf8_is_named(place):
    odd = place.path / os.fsdecode(b"odd\xff")
    odd.mkdir()
    reported = r"odd\xff: the name of this directory is not UTF-8, so that no run can use it"
    place.environment["BURSAR_HOME"] = str(odd)
    _, err = place.bursar(*RUN, "true", ":::", "1", code=2)
    assert reported in one_line(err)
    assert not list(odd.iterdir())


def test_resume_names_the_option_that_is_wrong(place):
    place.bursar(*RUN, "--name", "r", "-q", "true", ":::", "1")
    for option, value in (("--deadline", "0s"), ("--budget", "much")):
        _, err = place.bursar("resume", "r", option, value, code=2)
        assert one_line(err).startswith(f"bursar: {option}: '{value}' is ")


def damaged(place, how):
    place.bursar(*RUN, "--name", "r", "-q", "true", ":::", "1")
    journal = place.path / ".bursar" / "r" / "journal.db"
    how(journal)
    return place.bursar("resume", "r", code=1)[1]


def test_a_truncated_journal(place):
    err = damaged(place, lambda path: path.write_bytes(path.read_bytes()[:5000]))
    assert "journal.db" in one_line(err)


def test_a_journal_that_is_none(place):
    err = damaged(place, lambda path: path.write_text("hello" * 1000))
    assert "journal.db" in one_line(err)


def test_a_journal_of_a_newer_version(place):
    def renew(path):
        with sqlite3.connect(path) as connection:
            connection.execute("DROP TRIGGER meta_stays")
            connection.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
        connection.close()

    err = damaged(place, renew)
    assert "newer" in one_line(err)


def test_a_full_disk_stops_the_run_and_loses_nothing(place):
    """A limit on the size of files stands for the full disk."""

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    many = [str(n) for n in range(3000)]
    process = place.popen(*RUN, "--name", "r", "-q", "true", ":::", *many, preexec_fn=limit)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1
    assert "bursar resume" in one_line(err)
    out, _ = place.bursar("resume", "r", "--budget", "50", "--json", "-q")
    assert json.loads(out)["tasks"]["done"] == 3000


def test_a_journal_that_cannot_be_read_does_not_hide_the_other_runs(place):
    place.bursar(*RUN, "--name", "good", "-q", "true", ":::", "1")
    damaged(place, lambda path: path.write_text("hello" * 1000))
    out, _ = place.bursar("status")
    assert "good" in out
    assert "unreadable" in out


def test_a_budget_in_another_currency_is_refused_wherever_it_is_given(place):
    reported = "an amount in 'EUR', but the prices are in 'USD'; write it in that currency"
    market = ("--market", "market.toml")
    place.bursar(*RUN[:-1], "$2.50", "--name", "r", "-q", "true", ":::", "1")
    for words in (
        ("run", *market, "--budget", "5 EUR", "true", ":::", "1"),
        ("plan", *market, "--budget", "5 EUR", "--tasks", "9", "--assume", "small=1s"),
        ("plan", *market, "--sample-budget", "5 EUR", "true", ":::", "1"),
        ("plan", "r", "--budget", "5 EUR"),
        ("simulate", *market, "--budget", "5 EUR", "--tasks", "9", "--runtime", "1s"),
        ("resume", "r", "--budget", "5 EUR"),
    ):
        _, err = place.bursar(*words, code=2)
        assert reported in one_line(err), words
