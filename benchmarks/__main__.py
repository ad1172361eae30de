"""`python -m benchmarks [NAME ...]`: all benchmarks, or those named; ends with 1 if a goal fails.

One that cannot be measured is shown with its traceback, and the others go on.

A benchmark is a module of this package with a function `measure(rounds) -> Result`.
"""

from __future__ import annotations

import argparse
import compileall
import os
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from traceback import format_exc

import msgspec

import benchmarks
import bursar
from benchmarks.measure import Goal, Result

ROUNDS = 3


def main() -> int:
    """Measure, print, and tell whether all goals are met."""
    known = _find()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=benchmarks.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(known)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each rival (3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    for name in given.names:
        if name not in known:
            parser.error(f"no benchmark '{name}'; there are {', '.join(known)}")
    if given.rounds < 1:
        parser.error("--rounds must be at least 1")
    _warn_if_busy()
    _compile_modules()
    found: dict[str, Result] = {}
    broken: list[str] = []
    for name in given.names or known:
        try:
            found[name] = known[name](given.rounds)
        except Exception:  # the others are measured all the same
            broken.append(name)
            print(f"FAIL  {name} could not be measured:\n{format_exc()}", file=sys.stderr)
            continue
        if not given.json:
            _show(found[name])
    if given.json:
        print(msgspec.json.encode({name: _encoded(one) for name, one in found.items()}).decode())
    if broken:
        print(f"not measured: {', '.join(broken)}", file=sys.stderr)
    met = all(goal.is_met for result in found.values() for goal in result.goals)
    return 0 if met and not broken else 1


def _find() -> dict[str, Callable[[int], Result]]:
    modules = {
        entry.name: import_module(f"benchmarks.{entry.name}")
        for entry in iter_modules(benchmarks.__path__)
        if entry.name != "__main__"
    }
    return {name: module.measure for name, module in modules.items() if hasattr(module, "measure")}


def _compile_modules() -> None:
    """To byte code, as pip does with what it installs; a checkout may lack it."""
    compileall.compile_dir(Path(bursar.__file__).parent, quiet=1)


def _warn_if_busy() -> None:
    load, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    if load > processors / 2:
        print(
            f"The load is {load:.1f} on {processors} processors: others are at work here, and the "
            "figures will tell of them too.",
            file=sys.stderr,
        )


def _show(result: Result) -> None:
    print(result.title)
    for line in result.lines:
        print(f"  {line.what:<24} {line.value:9.3f} {line.unit:<3} {line.note}".rstrip())
    for goal in result.goals:
        print(f"  {'pass' if goal.is_met else 'FAIL'}  {_in_words(goal)}")
    for name in result.missing:
        print(f"  not measured, since it is not installed: {name}")
    print(flush=True)


def _in_words(goal: Goal) -> str:
    unit = f" {goal.unit}" if goal.unit else ""
    return f"{goal.what}: {goal.value:.2f}{unit}, goal {goal.sign} {goal.bound:g}"


def _encoded(result: Result) -> dict[str, object]:
    goals = [{**msgspec.to_builtins(goal), "met": goal.is_met} for goal in result.goals]
    return {**msgspec.to_builtins(result), "goals": goals}


if __name__ == "__main__":
    sys.exit(main())
