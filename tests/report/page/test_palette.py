"""The colours of the page: readable on both grounds, and told apart by colour-blind eyes."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest

from bursar.report.page.html import style
from bursar.report.theme import IN_THE_DARK, INK, PAPER, SERIES, SOFT_INK

STATES = ("useful", "running", "off", "failed", "lost", "booting", "idle")
TEXTS = ("ink", "ink2", "ink3", "useful", "running", "off-text", "failed")
"""in which words are written"""
VISION = {
    "usual": np.eye(3),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
"""Machado, Oliveira and Fernandes (2009), severity 1, on linear light"""
LEAST_DIFFERENCE = 14
"""between two states (CIE76), as the design has it; shapes tell them apart, too"""


def palettes():
    """By theme, the colours of the style sheet: the first block is light, the second dark."""
    found = re.findall(r"\{\s*color-scheme: (light|dark);(.*?)\}", style(), re.DOTALL)
    blocks = [(name, dict(re.findall(r"--([\w-]+): (#\w+)", text))) for name, text in found]
    light, dark, by_media = blocks
    assert dark == by_media, "the dark of the button is the dark of the system"
    return {"light": light[1], "dark": dark[1]}


def linear(colour):
    digits = colour[1:]
    if len(digits) == 3:
        digits = "".join(one * 2 for one in digits)
    parts = np.array([int(digits[n : n + 2], 16) / 255 for n in (0, 2, 4)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def contrast(one, other):
    """As WCAG 2 has it."""
    weights = np.array([0.2126, 0.7152, 0.0722])
    low, high = sorted(float(weights @ linear(colour)) for colour in (one, other))
    return (high + 0.05) / (low + 0.05)


def lab(colour, vision):
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    seen = np.clip(VISION[vision] @ linear(colour), 0, 1)
    x, y, z = (to_xyz @ seen) / np.array([0.95047, 1.0, 1.08883])
    fx, fy, fz = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_words_and_marks_stand_out_from_the_panel(theme):
    colours = palettes()[theme]
    for name in TEXTS:
        assert contrast(colours[name], colours["panel"]) >= 4.5, name
    for name in STATES:
        assert contrast(colours[name], colours["panel"]) >= 3, name


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("vision", VISION)
def test_states_are_told_apart(theme, vision):
    colours = palettes()[theme]
    for one, other in combinations(STATES, 2):
        apart = np.linalg.norm(lab(colours[one], vision) - lab(colours[other], vision))
        assert apart >= LEAST_DIFFERENCE, (one, other, apart)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_plots_stand_out_from_their_paper(theme):
    def shown(colour):
        return colour if theme == "light" else IN_THE_DARK[colour]

    for colour in (INK, SOFT_INK):
        assert contrast(shown(colour), shown(PAPER)) >= 4.5
    for colour in SERIES:
        assert contrast(shown(colour), shown(PAPER)) >= 3, colour
