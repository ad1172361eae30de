"""The dashboard as an application: everything is read, and the one thing it does wants a token."""

from __future__ import annotations

import asyncio
import hmac
import time
from typing import Any, Final
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from bursar.journal.runs import Home, RunDir
from bursar.model.errors import BursarError
from bursar.report.page.html import live_html, runs_html, script, style
from bursar.runs.stopping import stop_run
from bursar.web.answers import answer, mistake
from bursar.web.page.feed import RunFeed
from bursar.web.page.runs_list import rows_html, run_list
from bursar.web.security import App, SecurityMiddleware

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:;"
    " frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
HEADERS: Final = {"content-security-policy": POLICY, "cache-control": "no-store"}
KEPT_S: Final = 60.0
"""a feed that nobody looks at is forgotten after so long ..."""
MOST_FEEDS: Final = 8
"""... or when there are more of them"""


class Dashboard:
    """The runs of a home."""

    def __init__(self, home: Home, token: str) -> None:
        self._home, self._token = home, token
        self._feeds: dict[str, RunFeed] = {}

    def app(self, hosts: frozenset[str]) -> App:
        """To be served; nobody gets past the checks of Host and Origin."""
        routes = [
            Route("/", self.list_page),
            Route("/runs.json", self.list_data),
            Route("/run/{name}", self.run_page),
            Route("/run/{name}/data.json", self.run_data),
            Route("/run/{name}/events", self.run_events),
            Route("/run/{name}/stop", self.stop, methods=["POST"]),
            Route("/static/page.css", _asset(style, "text/css")),
            Route("/static/page.js", _asset(script, "text/javascript")),
        ]
        handlers: Any = {BursarError: _unreadable}
        return SecurityMiddleware(Starlette(routes=routes, exception_handlers=handlers), hosts)

    @property
    def viewers(self) -> int:
        """Who looks at a run that may change."""
        return sum(feed.viewers for feed in list(self._feeds.values()))

    async def list_page(self, request: Request) -> Response:
        found = await asyncio.to_thread(run_list, self._home)
        return HTMLResponse(
            runs_html(found.verdict, found.more, rows_html(found.rows)), 200, HEADERS
        )

    async def list_data(self, request: Request) -> Response:
        return answer(await asyncio.to_thread(run_list, self._home))

    async def run_page(self, request: Request) -> Response:
        run = self._find(request)
        if run is None:
            return _missing()
        feed = await self._feed(run)
        shown = await feed.snapshot()
        place = f"/run/{quote(run.name, safe='')}"
        return HTMLResponse(live_html(shown, place, feed.version), 200, HEADERS)

    async def run_data(self, request: Request) -> Response:
        run = self._find(request)
        return _missing() if run is None else answer(await (await self._feed(run)).snapshot())

    async def run_events(self, request: Request) -> Response:
        run = self._find(request)
        if run is None:
            return _missing()
        last = request.headers.get("last-event-id") or request.query_params.get("since", "")
        since = int(last) if last.isascii() and last.isdigit() and len(last) < 19 else None
        events = (await self._feed(run)).events(since)
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return StreamingResponse(events, 200, headers, "text/event-stream")

    async def stop(self, request: Request) -> Response:
        """Stop a run, for those who have the token."""
        kind, _, given = request.headers.get("authorization", "").partition(" ")
        is_known = hmac.compare_digest(given.strip().encode(), self._token.encode())
        if kind.lower() != "bearer" or not is_known:
            return mistake(401, "the token is missing or wrong; the terminal has printed it")
        run = self._find(request)
        if run is None:
            return _missing()
        try:
            return answer({"said": stop_run(run)})
        except BursarError as error:
            return mistake(409, str(error))

    def _find(self, request: Request) -> RunDir | None:
        """The run of exactly this name: no path leads out of the list of runs."""
        name = request.path_params["name"]
        return next((run for run in self._home.list() if run.name == name), None)

    async def _feed(self, run: RunDir) -> RunFeed:
        for name, feed in sorted(self._feeds.items(), key=lambda one: one[1].last_used):
            is_old = time.monotonic() - feed.last_used > KEPT_S or len(self._feeds) >= MOST_FEEDS
            if is_old and not feed.viewers and name != run.name:
                await self._feeds.pop(name).close()
        known = self._feeds.get(run.name)
        if known is not None and (known.run.created != run.created or _goes_on(known)):
            if not known.viewers:
                await known.close()
            known = None
        if known is None:
            known = self._feeds[run.name] = RunFeed(run)
        return known


def _goes_on(feed: RunFeed) -> bool:
    """Whether a run that had ended was resumed."""
    try:
        return feed.is_over and feed.run.owner() is not None
    except BursarError:
        return False


def _asset(text: Any, kind: str) -> Any:
    async def give(request: Request) -> Response:
        return Response(text(), 200, {"cache-control": "no-cache"}, kind)

    return give


def _missing() -> Response:
    return mistake(404, "there is no such run; bursar status shows the runs")


async def _unreadable(request: Request, error: Exception) -> Response:
    return mistake(500, str(error))
