"""The application: routes, and what stands around them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from bursar.runs.service import Service
from bursar.web.answers import answer, mistake
from bursar.web.security import App, SecurityMiddleware
from bursar.web.service.api import Api
from bursar.web.service.auth import Tokens
from bursar.web.service.feed import Feed
from bursar.web.service.guarding import Guarding, Handler
from bursar.web.service.openapi import description
from bursar.web.service.task_api import TaskApi

PREFIX = "/api/v1"


def make_app(
    service: Service,
    feed: Feed,
    tokens: Tokens,
    hosts: frozenset[str],
    pages: Sequence[BaseRoute] = (),
) -> App:
    """All that answers; `pages` come before what stands here."""
    guarding = Guarding(tokens)
    api, tasks = Api(service, feed, guarding), TaskApi(service)

    def route(path: str, method: str, handler: Handler) -> Route:
        return Route(path, guarding.guarded(handler), methods=[method])

    app = Starlette(
        routes=[
            *pages,
            route(f"{PREFIX}/bags", "POST", api.submit_bag),
            route(f"{PREFIX}/workflows", "POST", api.submit_workflow),
            route(f"{PREFIX}/works", "GET", api.works),
            route(f"{PREFIX}/works/{{number}}", "GET", api.work),
            route(f"{PREFIX}/works/{{number}}", "PATCH", api.change),
            route(f"{PREFIX}/works/{{number}}/cancel", "POST", api.cancel),
            route(f"{PREFIX}/works/{{number}}/events", "GET", api.work_events),
            route(f"{PREFIX}/works/{{number}}/tasks", "GET", tasks.tasks),
            route(f"{PREFIX}/works/{{number}}/tasks/{{task}}/log", "GET", tasks.log),
            route(f"{PREFIX}/events", "GET", api.events),
            route(f"{PREFIX}/why", "GET", api.why),
            route(f"{PREFIX}/users", "GET", api.users),
            route("/metrics", "GET", api.metrics),
            Route("/openapi.json", _described),
            Route("/healthz", _healthy(service)),
            Route("/", _welcome),
        ],
        exception_handlers={
            404: _plain(404, "there is nothing at this address; /openapi.json tells what there is"),
            405: _plain(405, "this address does not take that method; see /openapi.json"),
        },
    )

    async def attached(scope: object, receive: object, send: object) -> None:
        feed.attach(asyncio.get_running_loop())
        await app(scope, receive, send)  # type: ignore[arg-type]

    return SecurityMiddleware(attached, hosts)


def _plain(status: int, line: str) -> Callable[[Request, Exception], Awaitable[Response]]:
    async def respond(request: Request, error: Exception) -> Response:
        return mistake(status, line, getattr(error, "headers", None))

    return respond


async def _welcome(request: Request) -> Response:
    return PlainTextResponse("bursar serves here; /openapi.json describes how to use it.\n")


async def _described(request: Request) -> Response:
    return answer(description())


def _healthy(service: Service) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return mistake(503, "the service is over") if service.is_over else answer({"status": "ok"})

    return endpoint
