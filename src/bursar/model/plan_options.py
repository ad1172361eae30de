"""What somebody wants of the plan for a workflow, and knows of its run times."""

from __future__ import annotations

from typing import Final

import msgspec

CONFIDENCE: Final = 0.9
"""with which a plan keeps its goal, unless the user says otherwise"""
DEVIATION: Final = 0.2
"""Standard deviation of run times, as a share of their mean, where nobody knows better."""


class PlanOptions(msgspec.Struct, frozen=True, kw_only=True):
    confidence: float = CONFIDENCE
    on_average: bool = False
    """the budget is to be kept on average, not with the confidence"""
    deviation: float | None = None
    """of run times that were not measured, as a share of their mean; None: nobody knows"""
    performance: str | None = None
    """a file with what machines perform; None: the one of this place, if there is one"""
    seed: int = 0
    """of the simulated executions by which plans are judged"""

    @classmethod
    def of(cls, settings: dict[str, str]) -> PlanOptions:
        """As journals of earlier versions keep it."""
        given = {
            name: settings[f"plan_{name}"]
            for name in cls.__struct_fields__
            if f"plan_{name}" in settings
        }
        return msgspec.convert(given, cls, strict=False)
