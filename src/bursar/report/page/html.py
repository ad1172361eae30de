"""The page as HTML: one document for a live run, and one that a report carries everything in.

The figures at the top are in the document itself, so that it can be read without a script. All that
comes from outside is escaped here, and set as text by the script. No style or script runs whose
hash, or origin, the policy of the document does not name.
"""

from __future__ import annotations

import html
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

import msgspec

from bursar.report.page.headline import PageTile
from bursar.report.page.snapshot import RunSnapshot

SCRIPTS: Final = ("base.js", "charts.js", "machines.js", "panels.js", "runs.js", "page.js")
ICONS: Final = {"good": "✓", "warn": "!", "bad": "×", "wait": "…"}
_STOP: Final = '<button type="button" id="stop" class="stop gone">Stop …</button>'
_DIALOG: Final = """<dialog id="stop-dialog" aria-labelledby="stop-title"><form id="stop-form">
<h2 id="stop-title">Stop this run?</h2>
<p>No more tasks are started, those that run are finished, and the machines are released. Nothing is
lost: bursar resume continues it.</p>
<p><label for="stop-token">Token, as the terminal printed it</label></p>
<input id="stop-token" type="password" autocomplete="off" required>
<p id="stop-answer" role="status"></p>
<div class="row"><button type="button" id="stop-cancel">Cancel</button>
<button type="submit" class="stop">Stop the run</button></div></form></dialog>"""
_ALARM: Final = (
    '<div id="alarm" class="alarm gone" role="alert"><span id="alarm-text"></span>'
    '<button type="button" id="try-now">Try now</button></div>'
)


_CODES: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""control codes, and marks that turn the direction of what follows"""


def escape(text: str) -> str:
    """For a document: no markup, and codes as escapes that people see."""
    return html.escape(_CODES.sub(lambda code: f"\\u{ord(code[0]):04x}", text))


@cache
def asset(name: str) -> str:
    return files("bursar.report.page").joinpath("static", name).read_text("utf-8")


@cache
def script() -> str:
    """All scripts as one, with no name that anybody else sees."""
    parts = "\n".join(asset(name) for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{parts}\n}})();\n'


def style() -> str:
    return asset("page.css")


def report_html(shown: RunSnapshot) -> str:
    """One file with everything in it; it opens from disk, and asks no network for anything."""
    data = msgspec.json.encode(shown).decode().replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_hash(script())}';"
        f" style-src 'sha256-{_hash(style())}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    parts = {
        "LINKS": '<span class="brand">bursar</span>',
        "STOP": "",
        "ALARM": "",
        "DIALOG": "",
    }
    return (
        f"{_head(shown.run, policy)}<style>{style()}</style></head>\n<body>\n"
        f"{_body(shown, parts)}\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        f"<script>{script()}</script>\n</body></html>\n"
    )


def live_html(shown: RunSnapshot, address: str, version: int) -> str:
    """The page of a run that a server has at this address; a stream tells what is newer."""
    data = msgspec.json.encode(shown).decode().replace("<", "\\u003c")
    parts = {
        "LINKS": '<a class="brand" href="/">bursar</a><a id="runs-link" href="/">Runs</a>',
        "STOP": _STOP,
        "ALARM": _ALARM,
        "DIALOG": _DIALOG,
    }
    place, live = escape(address), ' class="live"' if shown.live else ""
    return (
        f'{_head(shown.run)}<link rel="stylesheet" href="/static/page.css"></head>\n'
        f'<body{live} data-events="{place}/events?since={version}" data-stop="{place}/stop">\n'
        f"{_body(shown, parts)}\n"
        f'<script type="application/json" id="data">{data}</script>\n'
        '<script src="/static/page.js" defer></script>\n</body></html>\n'
    )


def _head(title: str, policy: str = "") -> str:
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{meta}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="referrer" content="no-referrer"><title>{escape(title)} · bursar</title>'
        '<link rel="icon" href="data:,">'
    )


def _body(shown: RunSnapshot, parts: dict[str, str]) -> str:
    filled = {
        **parts,
        "NAME": escape(shown.run),
        "TONE": shown.verdict.tone,
        "ICON": ICONS[shown.verdict.tone],
        "VERDICT": escape(shown.verdict.text),
        "MORE": escape(shown.verdict.more) or "&nbsp;",
        "TILES": "\n".join(map(_tile, shown.tiles)),
    }
    return _filled("run.html", filled)


def _filled(name: str, parts: dict[str, str]) -> str:
    """Every second piece is the name of a part: what a part contains is never looked at again."""
    pieces = asset(name).split("@@")
    return "".join(parts[piece] if number % 2 else piece for number, piece in enumerate(pieces))


def runs_html(verdict: str, more: str, rows: str) -> str:
    """The list of runs; `rows` is HTML, the others are texts."""
    parts = {
        "VERDICT": escape(verdict),
        "MORE": escape(more) or "&nbsp;",
        "ROWS": rows,
        "HAS-RUNS": " gone" if rows else "",
    }
    return (
        f'{_head("Runs")}<link rel="stylesheet" href="/static/page.css"></head>\n<body>\n'
        f'{_filled("runs.html", parts)}\n<script src="/static/page.js" defer></script>\n'
        "</body></html>\n"
    )


def _tile(tile: PageTile) -> str:
    return (
        f'<div class="tile" id="tile-{tile.id}"><div class="label">{escape(tile.label)}</div>'
        f'<div class="value"><span class="number">{escape(tile.value)}</span>'
        f'<span class="unit">{escape(tile.unit)}</span></div><div class="track"></div>'
        f'<div class="more"><span class="alert">{escape(tile.alert)}</span>'
        f'<span class="rest">{escape(tile.more)}</span></div></div>'
    )


def _hash(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
