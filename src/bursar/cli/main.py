"""`bursar`: the verbs, each loaded when it is called, and one line for every mistake."""

from __future__ import annotations

import gc
import os
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import rich_click as click
from click import Command

from bursar import __version__
from bursar.cli.colors import color_help
from bursar.cli.streams import ReaderGoneError, StdoutError, drop_output, secure_streams
from bursar.kernels.compiling import on_compilation
from bursar.model.errors import BursarError, instead_of, shown

GROUPS: Final = {
    "Run": {
        "run": "Run commands or a workflow within a budget.",
        "resume": "Continue a run that was stopped, crashed or ran out of money.",
        "stop": "Stop a run.",
        "rm": "Remove runs that have ended.",
    },
    "Serve": {
        "serve": "Take work from several users over HTTP, each within a budget.",
        "submit": "Give commands or a workflow to a service.",
        "cancel": "Cancel works of a service.",
    },
    "Plan": {
        "plan": "Show cost and time of a bag or workflow, cheapest to fastest.",
        "frontier": "Compare ways to mix unreliable (spot) and reliable machines.",
        "simulate": "Try a policy, market or budget on simulated machines.",
        "compare": "Compare placers or autoscalers on a workload.",
        "optimum": "Find the best schedule of a small workload.",
        "generate": "Draw a workload: workflows that arrive over time.",
    },
    "Inspect": {
        "status": "List runs, or show one of them.",
        "watch": "Follow a run in the terminal, full screen.",
        "logs": "Print what a task wrote.",
        "why": "Show the decisions of a run and their reasons.",
        "dashboard": "Show all runs in a browser, live.",
        "report": "Write a run as one HTML page that opens offline.",
        "export": "Write a run as a job log or as JSON lines.",
        "show": "Show the structure of a workflow.",
    },
    "Machines": {
        "offers": "Show the offers of a market.",
        "calibrate": "Measure disk, network and processor of this machine.",
        "clean": "List and release machines that no run uses any more.",
    },
    "More": {
        "reproduce": "Recompute tables and figures of the papers.",
        "completion": "Print the completion script for your shell.",
    },
}
VERBS: Final = {name: text for group in GROUPS.values() for name, text in group.items()}

LITTER: Final = (20_000, 2, 2)
"""Objects before garbage is looked for, and generations: what is loaded at the start is none, and
to look after every 700 takes a tenth of the time. All is looked at as often as Python does it."""

COMPILING: Final = "compiling the simulation: once on this computer, takes some seconds ..."

click.rich_click.TEXT_MARKUP = "rich"
click.rich_click.STYLE_OPTIONS_TABLE_LEADING = 0
click.rich_click.COMMANDS_BEFORE_OPTIONS = True
click.rich_click.OPTIONS_PANEL_TITLE = "Output"  # where `--help` itself stands


class Verb(Command):
    """Stands for a verb until it is called, so that `bursar --help` is quick."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        verb: click.Command = import_module(f"bursar.cli.{self.name}").command
        verb.name = self.name
        return verb.make_context(info_name, args, parent, **extra)


class Verbs(click.RichGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return Verb(cmd_name, help=VERBS[cmd_name]) if cmd_name in VERBS else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in VERBS and not args[0].startswith("-"):
            raise click.UsageError(f"no verb {shown(args[0])}; {instead_of(args[0], VERBS)}", ctx)
        return super().resolve_command(ctx, args)


def _in_groups(group: click.RichGroup) -> click.RichGroup:
    for name, verbs in GROUPS.items():
        group.add_panel(click.RichCommandPanel(name, commands=list(verbs)))
    return group


@_in_groups
@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bursar")
def bursar() -> None:
    """Run bags of tasks and workflows on rented machines, and never spend more than you said."""


def _in_one_line(error: click.ClickException) -> str:
    """What is wrong with the words of a command line, and where to look."""
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    return message if context is None else f"{message}; see {context.command_path} --help"


def _say(line: str) -> None:
    from bursar.cli.common import say  # late: `bursar --help` does without what it needs

    say(line)


def main(arguments: list[str] | None = None) -> int:
    """The program: its exit code is 0 goal met, 1 internal, 2 usage, 3 tasks failed, 4 budget,
    5 deadline, 130 interrupted.
    """
    on_compilation(lambda: _say(COMPILING))
    if arguments is None:
        gc.set_threshold(*LITTER)
        secure_streams()
    code: Any = 0
    try:
        color_help()
        code = bursar.main(args=arguments, prog_name="bursar", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        _say(f"bursar: {_in_one_line(error)}")
        code = error.exit_code
    except ReaderGoneError:
        drop_output()
    except BursarError as error:
        if isinstance(error, StdoutError):
            drop_output()
        _say(f"bursar: {error}")
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("bursar: interrupted")
        code = 130
    code = code if isinstance(code, int) else 0
    if arguments is None:
        _end(code)
    sys.exit(code)


def _end(code: int) -> None:
    """End the process, also beside a thread whose thoughts nobody needs any more.

    Such a thread may be compiling, and would complain when the modules that it uses are taken
    away. To look for garbage once more takes 30 ms.
    """
    gc.freeze()
    if threading.active_count() > 1:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
