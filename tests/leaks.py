"""Looks for secrets of a run wherever they must not be."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
from pathlib import Path
from urllib.request import urlopen

KEEPERS = ("scheduler.json", "enrolment.json")
PAGES = ("", "runs.json", "run/{run}", "run/{run}/data.json", "run/{run}/events")


def secrets_of(home):
    """What opens the machines of a run, in parts that are found however they are written."""
    key = json.loads((home / "scheduler.json").read_text())["credentials"]["key"]
    found = key.splitlines()[1:3]
    if (home / "enrolment.json").exists():
        found.append(json.loads((home / "enrolment.json").read_text())["seed"])
    assert all(len(one) > 20 for one in found)
    return found


def processes_that_show(secrets, numbers):
    """Those that have one on their command line or in their environment, and which of the two."""
    shown = []
    for number in numbers:
        for what in ("cmdline", "environ"):
            try:
                data = Path(f"/proc/{number}/{what}").read_bytes()
            except OSError:
                continue
            if any(secret.encode() in data for secret in secrets):
                shown.append((number, what))
    return shown


def files_that_show(secrets, *places):
    """Files that hold one, but those that are made for it and that only their user can read."""
    shown = []
    for file in (file for place in places for file in _files_below(place)):
        try:
            if not file.is_file() or _may_hold(file):
                continue
            data = file.read_bytes()
        except FileNotFoundError:
            continue  # it was of an attempt that has ended meanwhile
        if any(secret.encode() in data for secret in secrets):
            shown.append(file)
    return shown


def _files_below(place):
    """Directories that vanish meanwhile are left out: they were of attempts that have ended."""
    for directory, _, names in os.walk(place):
        yield from (Path(directory, name) for name in names)


def _may_hold(file):
    is_for_it = file.name in KEEPERS or file.suffix == ".config"
    return is_for_it and not stat.S_IMODE(file.stat().st_mode) & 0o077


def outputs_that_show(secrets, workplace, run):
    """Of all that bursar shows of a run: in the terminal, in exported files, and on pages."""
    page = workplace.directory / "report.html"
    shown = {
        "why": workplace.call("why", run),
        "status": workplace.call("status", run, "--json"),
        "events": workplace.call("export", run, "--events", "-"),
        "joblog": workplace.call("export", run, "--joblog", "-"),
        "clean": workplace.call("clean", "--dry-run"),
        "report": workplace.call("report", run, "--html", str(page)) + page.read_text(),
        "journal": (workplace.directory / ".bursar" / run / "journal.db").read_bytes().decode("l1"),
        **_pages(workplace, run),
    }
    assert all(run in text for name, text in shown.items() if name in ("report", "runs.json"))
    return [name for name, text in shown.items() if any(secret in text for secret in secrets)]


def _pages(workplace, run):
    """The live pages, as a browser gets them."""
    server = workplace.start("dashboard", "--port", "0")
    try:
        link = re.search(r"http://\S+", server.stdout.readline())[0]
        return {
            page: urlopen(link + page.format(run=run), timeout=60).read().decode()  # noqa: S310
            for page in PAGES
        }
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
