"""`bursar cancel`: stop works of a service."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import print_json, say
from bursar.cli.numbers import Whole
from bursar.cli.options import json_option, settings
from bursar.cli.services import client_of, service_options


@click.command(context_settings=settings)
@click.argument("works", nargs=-1, required=True, type=Whole(1), metavar="WORK...")
@service_options("--of")
@json_option
def command(
    works: tuple[int, ...],
    url: str | None,
    token_file: str | None,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
) -> None:
    """Cancel works of a service: nothing more of them begins, what runs is stopped.

    What is done is kept. The numbers are those that bursar submit and bursar status print.
    """
    with client_of(url, token_file, user, ca_file) as client:
        answers = [client.cancel(number) for number in works]
    if as_json:
        print_json(answers)
        return
    for one in answers:
        say(f"work {one['number']}: {one['status']}, {one['done']:,} of {one['tasks']:,} done")
