"""Writes the page of commands when the site is built, from the commands themselves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from bursar.cli.main import GROUPS

PAGE = "reference/cli.md"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    files.append(File.generated(config, PAGE, content="\n".join(page())))
    return files


def on_page_markdown(markdown: str, page: Any, **_: object) -> str:
    """Links to files of the checkout become their names: the site does not have them."""
    root = Path(__file__).parents[2]
    if page.file.src_uri.startswith("reproductions/"):
        return markdown
    for name in ("examples/pi.py", "CONTRIBUTING.md"):
        if (root / name).exists():
            markdown = markdown.replace(f"[{name}](../{name})", f"`{name}`")
    return markdown


def page() -> Iterator[str]:
    """Every verb with its usage, its text and its options, in their groups."""
    yield "# Commands"
    yield ""
    yield "Also printed by `bursar COMMAND --help`."
    for group, verbs in GROUPS.items():
        yield f"\n## {group}"
        for name in verbs:
            command = import_module(f"bursar.cli.{name.replace('-', '_')}").command
            yield from of_command(name, command)


def of_command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"bursar {name}")
    yield f"\n### bursar {name}\n"
    yield f"```text\nbursar {name} {' '.join(command.collect_usage_pieces(context))}\n```\n"
    yield paragraphs(command.help or "")
    panels: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for option in command.params:
        record = option.get_help_record(context) if isinstance(option, click.Option) else None
        if record is not None:
            panels[getattr(option, "panel", None) or "Options"].append(record)
    for panel, records in panels.items():
        yield f"\n| {panel.lower()} | |\n|---|---|"
        yield from (f"| `{cell(words)}` | {cell(text)} |" for words, text in records)


def paragraphs(text: str) -> str:
    """Markdown of a help text; what click is asked not to wrap is shown as it stands."""
    parts = []
    for part in text.split("\n\n"):
        lines = [line.strip() for line in part.strip().splitlines()]
        if lines[:1] == ["\b"]:
            parts.append("\n".join(("```text", *lines[1:], "```")))
        else:
            parts.append("\n".join(lines).replace("[b]", "**").replace("[/b]", "**"))
    return "\n\n".join(parts)


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
