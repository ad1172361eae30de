"""Names of runs: friendly ones for those that got none, and what a person may choose."""

from __future__ import annotations

import re
from collections.abc import Container
from itertools import count
from random import Random
from typing import Final

from bursar.model.errors import InputError, shown

LAST: Final = "last"
"""Stands for the most recent run, so no run may have it as its name."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FIRST_WORDS: Final = _words(
    """
    amber ample azure balmy birch bold brave brisk bronze calm cedar cheery citrus clear clever
    cobalt copper coral cosy crisp dapper dusky eager early fabled fair fleet fresh gentle ginger
    golden hardy hazel honest indigo ivory jade jolly keen kindly lilac lively lucky maple mellow
    merry misty mossy nimble olive opal patient placid plucky quiet rosy ruby rustic sandy silver
    steady sunny tidy velvet
    """
)
SECOND_WORDS: Final = _words(
    """
    alder badger bison bramble brook canyon cove crane cricket curlew delta dingo dune egret
    falcon fern finch fjord fox gecko glade grove gull harbour hare heron hill ibis island jackal
    kestrel kiwi lagoon lake lark lemur linnet lynx marmot marten meadow merlin newt orchard osprey
    otter panda pebble petrel plover puffin quail raven reef robin salmon sparrow spruce stoat
    summit swift tern thicket walrus
    """
)

_VALID: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,63}")


def new_run_name(rng: Random, taken: Container[str]) -> str:
    """Such as `amber-finch`; with a number where that is taken."""
    name = f"{rng.choice(FIRST_WORDS)}-{rng.choice(SECOND_WORDS)}"
    if name not in taken:
        return name
    return next(longer for n in count(2) if (longer := f"{name}-{n}") not in taken)


def check_run_name(name: str) -> str:
    """The name, if a run may have it: it is part of paths, addresses and labels of machines."""
    if name == LAST:
        raise InputError(f"'{LAST}' stands for the most recent run; choose another name")
    if not _VALID.fullmatch(name):
        raise InputError(
            f"{shown(name)} is not a valid name for a run; use up to 64 letters, digits, - and _,"
            " and do not begin with -"
        )
    return name
