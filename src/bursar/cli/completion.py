"""`bursar completion`: scripts for shells."""

from __future__ import annotations

import rich_click as click
from click.shell_completion import get_completion_class

from bursar.cli.options import settings


@click.command(context_settings=settings)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script: add `eval "$(bursar completion bash)"` to your ~/.bashrc."""
    from bursar.cli.main import bursar

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101
    click.echo(kind(bursar, {}, "bursar", "_BURSAR_COMPLETE").source())
