"""Pictures follow whether the reader prefers light or dark.

They are drawn in light colours. A style within each picture names, for every light colour, the one
that takes its place in the dark: paper, ink and colours change together, so that a picture is
readable on any page around it. Programs that know SVG but no style sheets show a light one.
"""

from __future__ import annotations

from typing import Final

PAPER: Final = "#ffffff"
INK: Final = "#222222"
SOFT_INK: Final = "#4d535c"
GRID: Final = "#e2e2e2"
FRAME: Final = "#333333"
MARKED: Final = "#0b6fc0"
"""what is chosen, or runs"""
SERIES: Final = (
    "#1f77b4", "#d9541a", "#2a8c3c", "#8e44ad", "#b8860b", "#c2185b", "#00838f", "#555555",
)  # fmt: skip
_DARK_SERIES: Final = (
    "#5aa2ee", "#f4763a", "#4fb866", "#c58be0", "#d9a92b", "#f06a9b", "#35b5c4", "#a8adb4",
)  # fmt: skip
IN_THE_DARK: Final = {
    PAPER: "#171a1d",
    INK: "#eef0f2",
    SOFT_INK: "#b4bac2",
    GRID: "#363c43",
    FRAME: "#8f96a0",
    MARKED: "#5aa2ee",
    **dict(zip(SERIES, _DARK_SERIES, strict=True)),
}


def _rules() -> str:
    return "".join(
        f'svg [{what}="{light}"]{{{what}:{dark}}}'
        for light, dark in IN_THE_DARK.items()
        for what in ("fill", "stroke")
    )


STYLE: Final = f"<style>@media (prefers-color-scheme:dark){{{_rules()}}}</style>"
"""within each picture"""
