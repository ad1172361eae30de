"""`bursar report`: a run as a page to look at or to mail."""

from __future__ import annotations

import rich_click as click

from bursar.cli.common import home, print_json, run_argument, say, write_text
from bursar.cli.options import OUTPUT, json_option, option, settings


@click.command(context_settings=settings)
@run_argument()
@option(OUTPUT, "--html", metavar="FILE", help="Where to write the page (default: RUN.html).")
@option(OUTPUT, "--redact", is_flag=True, help="Leave out commands and what tasks printed.")
@json_option
def command(run: str | None, html: str | None, redact: bool, as_json: bool) -> None:
    """Write a run as one HTML file that opens offline: charts, money, decisions, failures.

    A run that is being executed is shown as it stands now, and is not disturbed.
    """
    from bursar.report.page.html import report_html
    from bursar.report.page.watch import watch_now

    found = home().find(run)
    shown = watch_now(found, redact=redact)
    if as_json:
        print_json(shown)
        return
    target, text = html or f"{found.name}.html", report_html(shown)
    write_text(target, text)
    say(f"{target}: {len(text.encode()) / 1000:,.0f} kB; open it in a browser")
