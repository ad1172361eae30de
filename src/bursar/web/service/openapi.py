"""What the API takes and answers, as OpenAPI describes it: `/openapi.json`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

import msgspec

from bursar import __version__
from bursar.execute.directories import FILES
from bursar.runs.service_tasks import STATUSES, WorkTask
from bursar.runs.service_work import MOST_PRIORITY, WorkStatus
from bursar.web.service.feed import WhyLine
from bursar.web.service.submissions import BagSubmission
from bursar.web.service.users import UserStatus

Json = dict[str, Any]
_MISTAKES: Final = {
    400: "the body cannot be read",
    401: "the token is missing or wrong",
    403: "this token may not do that, or a page of another site asks",
    404: "there is no such work or task, or it is somebody else's",
    408: "the body did not arrive in time",
    409: "the key was used for something else",
    413: "too large for one submission",
    421: "the server does not answer to this name",
    422: "a mistake in what was submitted, said in one line",
    429: "too much at once: try again after Retry-After seconds",
    503: "the service is stopping",
}
_PRIORITY: Final = {"type": "integer", "minimum": -MOST_PRIORITY, "maximum": MOST_PRIORITY}
_WHOLE: Final = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}


@cache
def description() -> Json:
    """The whole of it; the schemas are those of the types that are used."""
    kinds = (BagSubmission, WorkStatus, WorkTask, WhyLine, UserStatus)
    _, schemas = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "bursar serve",
            "version": __version__,
            "description": "Submit bags and workflows, which run within a budget for each user.",
        },
        "security": [{"token": []}],
        "paths": _paths(),
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {**schemas, **_lists()},
            "responses": {
                f"E{status}": {
                    "description": text,
                    "content": _json({"$ref": "#/components/schemas/Mistake"}),
                }
                for status, text in _MISTAKES.items()
            },
        },
    }


def _lists() -> Json:
    """What is answered in lists, and mistakes."""
    return {
        "Mistake": _object(error={"type": "string"}),
        "WorkList": _object(
            works=_array("WorkStatus"), next={"type": ["integer", "null"], "minimum": 1}
        ),
        "TaskList": _object(
            tasks=_array("WorkTask"), next={"type": ["integer", "null"], "minimum": 1}
        ),
        "WhyList": _object(decisions=_array("WhyLine"), is_complete={"type": "boolean"}),
        "UserList": _object(users=_array("UserStatus")),
        "Changes": {**_object(priority=_PRIORITY), "additionalProperties": False},
    }


def _paths() -> Json:
    number = _parameter("number", "path", {"type": "integer", "minimum": 1}, "of a work")
    after = _parameter("after", "query", _WHOLE, "what comes behind this number")
    limit = _parameter("limit", "query", {"type": "integer", "minimum": 1, "maximum": 1000}, "most")
    key = _parameter(
        "Idempotency-Key",
        "header",
        {"type": "string", "maxLength": 200, "pattern": "^[!-~]*$"},
        "a text of your own: what is sent twice with it is submitted once",
    )
    work, stream = _ref("WorkStatus"), {"text/event-stream": {"schema": {"type": "string"}}}
    submitted = {"201": _answer("submitted", work), "200": _answer("it was before", work)}
    return {
        "/api/v1/bags": {
            "post": _operation(
                "submit_bag",
                "Submit a bag: a command and its arguments. It is in the journal when answered.",
                submitted,
                (400, 401, 403, 408, 409, 413, 421, 422, 429, 503),
                parameters=[key],
                body=_json(_ref("BagSubmission")),
            )
        },
        "/api/v1/workflows": {"post": _workflow(key, submitted)},
        "/api/v1/works": {
            "get": _operation(
                "list_works",
                "Your works, in the order of their arrival.",
                {"200": _answer("a page of them", _ref("WorkList"))},
                (401, 421, 422, 503),
                parameters=[after, limit],
            )
        },
        "/api/v1/works/{number}": {
            "get": _operation(
                "show_work",
                "How a work stands.",
                {"200": _answer("it", work)},
                (401, 404, 421, 503),
                parameters=[number],
            ),
            "patch": _operation(
                "change_priority",
                "Change the priority of a work; larger is more urgent.",
                {"200": _answer("changed, unless it has ended", work)},
                (400, 401, 404, 408, 413, 421, 422, 429, 503),
                parameters=[number],
                body=_json(_ref("Changes")),
            ),
        },
        "/api/v1/works/{number}/cancel": {
            "post": _operation(
                "cancel_work",
                "Start nothing more of a work, and stop what runs.",
                {"200": _answer("cancelled, unless it has ended", work)},
                (401, 404, 421, 503),
                parameters=[number],
            )
        },
        **_tasks(number, after, limit),
        **_watching(number, after, limit, stream),
    }


def _tasks(number: Json, after: Json, limit: Json) -> Json:
    status = _parameter("status", "query", {"enum": list(STATUSES)}, "those that stand so")
    task = _parameter("task", "path", {"type": "string", "minLength": 1}, "its number, or name")
    stream = _parameter("stream", "query", {"enum": list(FILES)}, "which; stdout if not given")
    bytes_before = {"type": "integer", "minimum": 0, "maximum": 2**62}
    begin = _parameter("after", "query", bytes_before, "bytes to leave out at the beginning")
    part = {"application/octet-stream": {"schema": {"type": "string"}}}
    return {
        "/api/v1/works/{number}/tasks": {
            "get": _operation(
                "list_tasks",
                "Tasks of a work, with the reason where one failed.",
                {"200": _answer("a page of them", _ref("TaskList"))},
                (401, 404, 421, 422, 503),
                parameters=[number, status, after, limit],
            )
        },
        "/api/v1/works/{number}/tasks/{task}/log": {
            "get": _operation(
                "show_log",
                "What a task printed, at most 1 MiB of it at a time.",
                {"200": {"description": "empty: that was all so far", "content": part}},
                (401, 404, 421, 422, 503),
                parameters=[number, task, stream, begin],
            )
        },
    }


def _workflow(key: Json, submitted: Json) -> Json:
    file = {"schema": {"type": "string", "minLength": 1}}
    return _operation(
        "submit_workflow",
        "Submit a workflow file as it is, in any format that bursar run reads.",
        submitted,
        (401, 403, 408, 409, 413, 421, 422, 429, 503),
        parameters=[
            key,
            _parameter("filename", "query", {"type": "string"}, "its name tells TOML from YAML"),
            _parameter("user", "query", {"type": "string"}, "whose it is; for the administrator"),
            _parameter("priority", "query", _PRIORITY, "larger is more urgent"),
            _parameter("deadline", "query", {"type": "string"}, "since its arrival: 2h"),
        ],
        body={"application/octet-stream": file},
    )


def _watching(number: Json, after: Json, limit: Json, stream: Json) -> Json:
    resumed = _parameter("Last-Event-ID", "header", _WHOLE, "go on behind this event")
    watch = {"200": {"description": "server-sent events, until you hang up", "content": stream}}
    errors = (400, 401, 404, 421, 429)
    return {
        "/api/v1/works/{number}/events": {
            "get": _operation(
                "watch_work",
                "The events of a work; the last, `end`, comes when it is settled.",
                watch,
                errors,
                parameters=[number, after, resumed],
            )
        },
        "/api/v1/events": {
            "get": _operation(
                "watch", "Your events.", watch, (400, 401, 421, 429), parameters=[after, resumed]
            )
        },
        "/api/v1/why": {
            "get": _operation(
                "why",
                "Decisions about your works and machines, with reasons.",
                {"200": _answer("the first behind `after`", _ref("WhyList"))},
                (401, 421, 422, 503),
                parameters=[after, limit],
            )
        },
        "/api/v1/users": {
            "get": _operation(
                "users",
                "Your budget and its use; for the administrator, those of all users.",
                {"200": _answer("them", _ref("UserList"))},
                (401, 421, 503),
            )
        },
        "/metrics": {
            "get": _operation(
                "metrics",
                "Figures for Prometheus.",
                {"200": {"description": "them", "content": {"text/plain": {}}}},
                (401, 421, 503),
            )
        },
    }


def _operation(
    name: str,
    text: str,
    answers: Json,
    mistakes: tuple[int, ...],
    parameters: list[Json] | None = None,
    body: Json | None = None,
) -> Json:
    made: Json = {
        "operationId": name,
        "summary": text,
        "responses": {
            **answers,
            **{str(one): {"$ref": f"#/components/responses/E{one}"} for one in mistakes},
        },
    }
    if parameters:
        made["parameters"] = parameters
    if body is not None:
        made["requestBody"] = {"required": True, "content": body}
    return made


def _parameter(name: str, place: str, schema: Mapping[str, Any], text: str) -> Json:
    required = {"required": True} if place == "path" else {}
    return {"name": name, "in": place, "schema": schema, "description": text, **required}


def _answer(text: str, schema: Json) -> Json:
    return {"description": text, "content": _json(schema)}


def _json(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def _ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _array(name: str) -> Json:
    return {"type": "array", "items": _ref(name)}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}
