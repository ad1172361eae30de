"""Options of GNU parallel that bursar does not have, and what does the same here."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ORDER: Final = "the output of each task has a directory of its own"
_LOG: Final = "bursar export RUN --joblog FILE writes the job log, also while the run lasts"
_RESULTS: Final = "--output DIR is where results go"
_SHOWN: Final = "progress is shown in a terminal without it"
_ALWAYS: Final = "bursar resume RUN continues a run, without a job log"
_ONE: Final = "each argument is one task: use --colsep or --params for several"
_HALT: Final = "the other tasks go on after a failure: bursar stop RUN stops them"
_HEADER: Final = "--params FILE reads named columns"
_BRACES: Final = "the replacement string is always {}"

HINTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "-k": _ORDER,
        "--keep-order": _ORDER,
        "--tag": _ORDER,
        "--group": _ORDER,
        "--ungroup": _ORDER,
        "--line-buffer": _ORDER,
        "--joblog": _LOG,
        "--results": _RESULTS,
        "--bar": _SHOWN,
        "--eta": _SHOWN,
        "--progress": _SHOWN,
        "--resume": _ALWAYS,
        "--resume-failed": "bursar resume RUN --retry-failed retries what failed",
        "-N": _ONE,
        "-n": _ONE,
        "-X": _ONE,
        "-L": _ONE,
        "--max-args": _ONE,
        "--halt": _HALT,
        "--header": _HEADER,
        "-I": _BRACES,
        "-i": _BRACES,
        "-S": "--on ssh uses your own hosts",
        "--sshlogin": "--on ssh uses your own hosts",
        "--dryrun": "write --dry-run",
    }
)
"""By the option, what to say of it."""
