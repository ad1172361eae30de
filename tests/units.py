"""Numbers without a unit in what a page shows, whoever wrote them.

Every phrase that can be seen, or that a mouse or a screen reader finds, is looked at with its
label: the head of its column, the label of its tile, the title of its axis, the heading of its
panel. A number needs a unit beside it (money, time, %), or a noun that it counts in its phrase or
its label. Where names, commands and output stand, digits are no quantities.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

RECORD = """
window.onCanvases = [];
const drawnBefore = CanvasRenderingContext2D.prototype.fillText;
CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
  window.onCanvases.push([String(text), this.canvas]);
  return drawnBefore.call(this, text, ...place);
};
"""
"""keeps what a page writes on canvases, where nobody finds it later"""
COLLECT = Path(__file__).with_suffix(".js").read_text()
"""phrases with digits: what it says, its label, and where it stands; and the offers of the run"""

NAMED_COLUMNS = frozenset(
    (
        "task",
        "machine",
        "offer",
        "run",
        "user",
        "autoscaler",
        "placer",
        "provisioner",
        "choice",
        "fleet",
        "strategy",
        "rank",
    )
)
"""columns of names and places, in which digits are no quantities"""
UNIT = r"(?:ms|s|min|minutes|h|d|%|USD|EUR|GBP|kB|MB|GB|currency)"
COUNTED = (
    "task", "machine", "attempt", "slot", "event", "run", "decision", "group", "user", "offer",
    "simulation", "forecast", "seat", "level", "try", "work", "replica", "plan", "way",
    "autoscaler", "placer",
)  # fmt: skip
"""what is counted, in the singular"""
RATIOS = ("slowdown", "Jain", "elastic", "utilization", "points", "score", "of 1")
"""figures without a dimension, by their usual names"""
NOUN = re.compile(
    rf"\b(?:(?:{'|'.join(COUNTED)})s?|tries|{'|'.join(RATIOS)})\b|#|(?:^|[\s,(]){UNIT}(?:$|[\s,)/])",
    re.IGNORECASE,
)
NUMBER = re.compile(r"(?<![\w.:_/-])(?<!\w-)\d[\d,]*(?:\.\d+)?k?(?![\w:]|[-.]\w)")
CLOCK = re.compile(r"\d+:\d\d(?::\d\d)?")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
BESIDE = re.compile(rf"\s*(?:(?:to|–|-|and|of)\s+[\d.,]+\s*)?{UNIT}(?:$|[^\w])")
CALLED = re.compile(
    r"\b(?:tasks?|seed|bursar|Python|exit|code|machine|level)(?:\s[\d, …]*)?$",
    re.IGNORECASE,
)
"""what comes before a number that is a name: "task 12", "seed 0" """


def bare_numbers(phrase: str, label: str = "", offers: Iterable[str] = ()) -> list[str]:
    """The numbers of a phrase that say neither their unit nor what they count.

    Machines are counted by the names of their offers, too: "2 small at work".
    """
    if label.strip().lower() in NAMED_COLUMNS:
        return []
    text = DATE.sub(" ", CLOCK.sub(" ", phrase.replace("\u00a0", " ").replace("\u2060", "")))
    for offer in offers:
        text = text.replace(offer, "machines")
    if NOUN.search(label):
        return []
    return [number for clause in re.split(r"[·;()\n]|\.\s", text) for number in _bare_in(clause)]


def _bare_in(clause: str) -> list[str]:
    if NOUN.search(clause):
        return []
    return [
        found[0]
        for found in NUMBER.finditer(clause)
        if clause[: found.start()].rstrip()[-1:] not in tuple("$€£")
        and not BESIDE.match(clause[found.end() :])
        and not CALLED.search(clause[: found.start()].rstrip())
    ]


def unitless(browser, address, until) -> list[str]:
    """Open a page; what it has of such numbers, and where."""
    record = browser.call("Page.addScriptToEvaluateOnNewDocument", source=RECORD)
    try:
        browser.open(address, until)
        seen = browser.evaluate(COLLECT)
    finally:
        browser.call("Page.removeScriptToEvaluateOnNewDocument", **record)
    assert len(seen["found"]) > 5, "there is something to look at"
    return [
        f"{one['where']}: {one['phrase'].strip()!r} under {one['label'].strip()!r}: {bare}"
        for one in seen["found"]
        if (bare := bare_numbers(one["phrase"], one["label"], seen["offers"]))
    ]
