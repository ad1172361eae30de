"""`bursar dashboard`: all runs in a browser."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import home, say
from bursar.cli.numbers import Whole
from bursar.cli.options import OUTPUT, option, settings
from bursar.model.errors import InputError

PORT = 8620


@click.command(context_settings=settings)
@option(
    OUTPUT,
    "--port",
    type=Whole(0, 65_535),
    default=None,
    metavar="N",
    help=f"Port on this computer (default: {PORT}, or another that is free).",
)
def command(port: int | None) -> None:
    """Show the runs of this directory in a browser, live; Ctrl-C ends it.

    It listens on this computer only, and reads journals without disturbing a run. To stop a run
    from its page, the token is needed that is printed here.
    """
    from bursar.web.listening import Listening, require_web

    require_web()
    from bursar.web.page.serve import new_token, serve

    listening = Listening(port=PORT if port is None else port)
    try:
        bound = listening.bind()
    except InputError:
        if port is not None:
            raise
        bound = (listening := Listening()).bind()
    token = new_token()
    say(f"runs in {home().path}: {listening.url(bound)}/")
    say(f"token to stop a run from its page: {token}")
    serve(home(), listening, bound, token)
