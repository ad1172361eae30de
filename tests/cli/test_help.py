"""Help pages: commands and options stand in groups, and every text stands on its own."""

import re
import resource
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
import rich_click as click

from bursar.cli.main import GROUPS as VERB_GROUPS
from bursar.cli.main import VERBS
from bursar.cli.options import GROUPS

NARROW = {"NO_COLOR": "1", "COLUMNS": "80", "PATH": ""}
QUICK = 0.3
"""seconds of processor time"""


def options(verb):
    command = import_module(f"bursar.cli.{verb}").command
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def page(*words):
    program = Path(sys.executable).with_name("bursar")
    done = subprocess.run(
        [program, *words, "--help"], capture_output=True, text=True, check=True, env=NARROW
    )
    return done.stdout


def panels(text):
    return re.findall(r"^╭─ (.+?) ─+╮$", text, re.MULTILINE)


@pytest.mark.parametrize("verb", VERBS)
def test_every_option_stands_in_a_group_with_a_text_of_its_own(verb):
    for one in options(verb):
        assert one.panel in GROUPS, f"bursar {verb} {one.opts[0]}"
        assert one.help is not None, f"bursar {verb} {one.opts[0]}"
        assert re.match(r"[A-Z](?!f\b|orkflows:).*\.$", one.help), f"bursar {verb}: {one.help}"


@pytest.mark.parametrize("verb", VERBS)
def test_a_help_page_has_its_groups_in_one_order_and_fits_80_columns(verb):
    text = page(verb)
    shown = panels(text)
    assert shown == [group for group in GROUPS if group in shown]
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "…" not in text


@pytest.mark.parametrize("verb", VERBS)
def test_a_default_that_click_fills_in_is_named_in_the_text(verb):
    for one in options(verb):
        value = one.default
        if not isinstance(value, int | float | str) or isinstance(value, bool):
            continue
        said = "this one" if value == "." else f"{value:g}" if isinstance(value, float) else value
        assert "default: " in one.help, f"bursar {verb} {one.opts[0]}"
        assert str(said) in one.help, f"bursar {verb} {one.opts[0]}: {said}"


def test_the_verbs_stand_in_groups():
    text = page()
    assert panels(text) == [*VERB_GROUPS, "Output"]
    for verb, reported in VERBS.items():
        assert re.search(rf"^│ {verb} +{re.escape(reported)} +│$", text, re.MULTILINE), verb


def test_help_is_quick():
    def used():
        of = resource.getrusage(resource.RUSAGE_CHILDREN)
        return of.ru_utime + of.ru_stime

    taken = []
    for _ in range(5):
        before = used()
        page()
        taken.append(used() - before)
    assert min(taken) <= QUICK


def test_a_verb_that_is_misspelt_is_told_the_right_one(place):
    assert "no verb 'sttus'; did you mean 'status'?" in place.bursar("sttus", code=2)[1]
    assert "no verb 'fly'; known: run, resume, " in place.bursar("fly", code=2)[1]
