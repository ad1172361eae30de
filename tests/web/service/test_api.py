"""What users do over HTTP: submit, list, show, cancel, reorder, watch, and ask why."""

import json
import socket
import threading
from functools import partial
from pathlib import Path

import pytest
from tests.web.service.conftest import Served

from bursar.client import ServiceError
from bursar.runs import submission_keys
from bursar.web.service import api, guarding, stream, submissions

FLOW = b"""
name: pair
tasks:
  first: {run: "echo one > part", files: {out: part}}
  second: {run: "cat part part > joined", files: {in: part, out: joined}}
"""
BAG = json.dumps({"command": "echo {1}", "rows": [["a"], ["b"]]})
ENDLESS = {"command": "sleep 1000", "repeat": 1}


def test_bags_and_workflows_are_submitted_and_done(served):
    with served.client("ann") as ann:
        bag = ann.submit_bag("echo {1}", [["a"], ["b"]], priority=3)
        flow = ann.submit_workflow(FLOW, filename="flow.yaml")
        again = ann.submit_workflow(FLOW, filename="flow.yaml")
        assert [one["number"] for one in (bag, flow, again)] == [1, 2, 3]
        assert {ann.wait(number, 60)["status"] for number in (1, 2, 3)} == {"done"}
        assert [(one["name"], one["owner"], one["done"]) for one in ann.works()] == [
            ("echo a", "ann", 2), ("pair", "ann", 2), ("pair", "ann", 2),
        ]  # fmt: skip
    outputs = served.service.directory / "outputs"
    assert (outputs / "files-2" / "joined").read_text() == "one\none\n"
    assert (outputs / "files-3" / "joined").read_text() == "one\none\n"


def test_a_wrong_token_is_refused_everywhere(served):
    served.client("ann").submit_bag("echo", repeat=1)
    for method, path in (
        ("GET", "/api/v1/works"),
        ("GET", "/api/v1/works/1"),
        ("PATCH", "/api/v1/works/1"),
        ("POST", "/api/v1/works/1/cancel"),
        ("GET", "/api/v1/works/1/events"),
        ("POST", "/api/v1/bags"),
        ("POST", "/api/v1/workflows"),
        ("GET", "/api/v1/events"),
        ("GET", "/api/v1/why"),
        ("GET", "/api/v1/users"),
        ("GET", "/metrics"),
    ):
        for headers in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Bearer "}):
            assert served.ask(method, path, headers=headers)[0] == 401, path
    basic = {"Authorization": f"Basic {served.token('ann')}"}
    assert served.ask("GET", "/api/v1/works", headers=basic)[0] == 401


def test_the_work_of_another_user_is_not_there(served):
    served.client("ann").submit_bag(**ENDLESS)
    for method, path, body in (
        ("GET", "/api/v1/works/1", None),
        ("PATCH", "/api/v1/works/1", '{"priority": 5}'),
        ("POST", "/api/v1/works/1/cancel", None),
        ("GET", "/api/v1/works/1/events", None),
    ):
        missing = path.replace("/1", "/99")
        assert served.ask(method, path, "bob", body) == served.ask(method, missing, "bob", body)
        assert served.ask(method, path, "bob", body)[0] == 404
    assert list(served.client("bob").works()) == []
    assert served.client("ann").work(1)["priority"] == 0
    assert served.client("admin").cancel(1)["status"] == "cancelled"


def test_works_are_cancelled_and_get_other_priorities(served):
    ann = served.client("ann")
    number = ann.submit_bag(**ENDLESS)["number"]
    assert ann.set_priority(number, 7)["priority"] == 7
    assert ann.cancel(number)["status"] == "cancelled"
    assert ann.cancel(number)["status"] == "cancelled"  # as often as one likes
    assert ann.set_priority(number, 1)["priority"] == 7  # it is over


def test_what_is_sent_twice_with_a_key_is_submitted_once(served):
    first = served.ask("POST", "/api/v1/bags", "ann", BAG, {"Idempotency-Key": "mine"})
    again = served.ask("POST", "/api/v1/bags", "ann", BAG, {"Idempotency-Key": "mine"})
    assert (first[0], again[0]) == (201, 200)
    assert first[1]["number"] == again[1]["number"] == 1
    other = BAG.replace("echo", "true")
    status, reported = served.ask("POST", "/api/v1/bags", "ann", other, {"Idempotency-Key": "mine"})
    assert (status, "used for another work, 1" in reported["error"]) == (409, True)
    assert served.ask("POST", "/api/v1/bags", "bob", BAG, {"Idempotency-Key": "mine"})[0] == 201
    assert served.ask("POST", "/api/v1/bags", "ann", BAG)[1]["number"] == 3


def test_a_key_is_the_same_by_whatever_name_the_service_is_reached(served):
    """A nightly job may be moved to another address, and the service to another port."""
    for host in ("127.0.0.1:1", "localhost", "[::1]:8765"):
        headers = {"Idempotency-Key": "nightly", "Host": host}
        assert served.ask("POST", "/api/v1/bags", "ann", BAG, headers)[1]["number"] == 1


def test_old_keys_are_forgotten(served, monkeypatch):
    monkeypatch.setattr(submission_keys, "MOST_KEYS", 2)
    ann = served.client("ann")
    numbers = [ann.submit_bag("true", repeat=1, key=key)["number"] for key in "abcca"]
    assert numbers == [1, 2, 3, 3, 4]


WRONG_BAGS = [
    ("", 400, "cannot be read as JSON"),
    ('{"command": ', 400, "cannot be read as JSON"),
    ("[" * 100_000, 422, "Expected `object`"),
    ("[]", 422, "Expected `object`"),
    ('{"rows": []}', 422, "missing required field `command`"),
    ('{"command": "echo", "rows": [[1]]}', 422, "at `$.rows[0][0]`"),
    ('{"command": "echo", "rows": []}', 422, "the bag is empty"),
    ('{"command": "echo", "rows": [[]]}', 422, "task 1 has no arguments"),
    ('{"command": "echo", "rows": [["a"], ["b", "c"]]}', 422, "task 2 has 2 arguments"),
    ('{"command": "{x}", "rows": [["a", "b"]], "columns": ["x", "x"]}', 422, "'x' appears twice"),
    ('{"command": "echo"}', 422, "give one of them"),
    ('{"command": "", "repeat": 1}', 422, "there is no command"),
    ('{"command": "a | b", "repeat": 1}', 422, 'add "shell": true'),
    ('{"command": "a\\u0000b", "repeat": 1}', 422, "NUL"),
    ('{"command": "echo", "repeat": 1, "budget": 5}', 422, "unknown field `budget`"),
    ('{"command": "echo", "repeat": 1, "priority": 1e400}', 422, "at `$.priority`"),
    ('{"command": "echo", "repeat": 1, "priority": 9999999999}', 422, "must be a whole number"),
    ('{"command": "echo", "repeat": 1, "deadline": "soon"}', 422, "soon"),
    ('{"command": "echo", "repeat": 100001}', 413, "at most 100,000 tasks"),
    ('{"command": "echo", "repeat": 1, "user": "bob"}', 403, "for ann only"),
]
WRONG_WORKFLOWS = [
    (b"", "is empty"),
    (b"\xff\xfe\x00", ""),
    (b"tasks: 5", "no tasks"),
    (b"tasks: {a: {run: x, needs: b}}", "'b'"),
    (b"tasks: {a: {runtime: 3s}}", "has no command"),
    (b"tasks: {a: {run: x, files: {in: nothing.txt}}}", "nothing.txt"),
    (b"tasks: {a: {run: x, files: {in: /etc/passwd}}}", "outside of the workflow's directory"),
    (b"<adag", ""),
    (b"\x1f\x8b\x08", "not UTF-8"),
]


def test_mistakes_are_reported_in_one_line(served):
    for body, status, reported in WRONG_BAGS:
        answered, text = served.ask("POST", "/api/v1/bags", "ann", body)
        assert (answered, reported in text["error"]) == (status, True), (body[:80], text)
        assert "\n" not in text["error"]
    for body, reported in WRONG_WORKFLOWS:
        status, text = served.ask("POST", "/api/v1/workflows", "ann", body)
        assert (status, reported in text["error"]) == (422, True), (body, text)
        assert "\n" not in text["error"]
    for body, status in (("", 400), ("{}", 422), ('{"priority": 1.5}', 422), ("[]", 422)):
        number = served.client("ann").submit_bag("true", repeat=1, key="one")["number"]
        assert served.ask("PATCH", f"/api/v1/works/{number}", "ann", body)[0] == status
    assert len(list(served.client("ann").works())) == 1


def test_a_user_who_does_not_exist_gets_nothing_submitted(served):
    body = '{"command": "echo", "repeat": 1, "user": "carl"}'
    status, reported = served.ask("POST", "/api/v1/bags", "admin", body)
    assert (status, reported["error"]) == (422, "no user 'carl'; there are ann, bob")
    assert served.ask("POST", "/api/v1/workflows?user=carl", "admin", FLOW)[0] == 422
    assert served.ask("POST", "/api/v1/workflows?user=bob", "ann", FLOW)[0] == 403
    status, reported = served.ask("POST", "/api/v1/workflows?user=bob", "admin", FLOW)
    assert (status, reported["owner"]) == (201, "bob")


def test_too_large_a_body_is_not_even_read(served, monkeypatch):
    monkeypatch.setattr(guarding, "LARGEST_BODY", 1000)
    large = b"x" * 2000
    assert served.ask("POST", "/api/v1/workflows", "ann", large)[0] == 413
    chunks = iter([large, large])
    assert served.ask("POST", "/api/v1/workflows", "ann", chunks)[0] == 413
    assert served.ask("POST", "/api/v1/bags", "ann", BAG)[0] == 201


def test_too_much_at_once_is_put_off(served, monkeypatch):
    monkeypatch.setattr(api, "MOST_WAITING", 3)
    assert served.ask("POST", "/api/v1/bags", "ann", json.dumps(ENDLESS))[0] == 201
    assert served.ask("POST", "/api/v1/bags", "ann", BAG)[0] == 201
    status, reported = served.ask(
        "POST", "/api/v1/bags", "ann", json.dumps({**ENDLESS, "repeat": 4})
    )
    assert (status, "tasks wait already" in reported["error"]) == (429, True)
    monkeypatch.setattr(guarding, "MOST_BYTES", 10)
    assert served.ask("POST", "/api/v1/bags", "bob", BAG)[0] == 429
    monkeypatch.setattr(guarding, "MOST_BYTES", 1000)
    assert served.ask("POST", "/api/v1/bags", "bob", BAG)[0] == 201  # nothing is held any more


def test_a_body_that_does_not_arrive_is_given_up(served, monkeypatch):
    monkeypatch.setattr(guarding, "RECEIVING", 0.1)
    headers = f"Authorization: Bearer {served.token('ann')}\r\nContent-Length: 100"
    with socket.create_connection(served.socket.getsockname(), 30) as slow:
        slow.sendall(
            f"POST /api/v1/bags HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n{{".encode()
        )
        assert slow.recv(1000).startswith(b"HTTP/1.1 408 ")


def test_lists_come_in_pages(served):
    ann = served.client("ann")
    for _ in range(5):
        ann.submit_bag("true", repeat=1)
    served.client("bob").submit_bag("true", repeat=1)
    status, first = served.ask("GET", "/api/v1/works?limit=2&after=1", "ann")
    assert (status, [one["number"] for one in first["works"]], first["next"]) == (200, [2, 3], 3)
    status, last = served.ask("GET", "/api/v1/works?limit=2&after=3", "ann")
    assert ([one["number"] for one in last["works"]], last["next"]) == ([4, 5], None)
    for query in ("limit=0", "limit=x", "after=-1", "limit=100000"):
        assert served.ask("GET", f"/api/v1/works?{query}", "ann")[0] == 422


def test_watching_goes_on_where_it_was_cut_off(served):
    ann = served.client("ann")
    number = ann.submit_bag("echo", repeat=3)["number"]
    ann.wait(number, 60)
    seen = list(ann.watch(number))
    kinds = [one["event"] for one in seen]
    assert kinds[0] == "WorkArrived"
    assert (kinds.count("AttemptStarted"), kinds.count("AttemptEnded")) == (3, 3)
    assert {one["work"] for one in seen} == {number}
    ids = [one["id"] for one in seen]
    assert ids == sorted(set(ids))
    headers = {"Last-Event-ID": str(ids[3])}
    status, text = served.ask("GET", f"/api/v1/works/{number}/events", "ann", headers=headers)
    rest = [int(line[4:]) for line in text.splitlines() if line.startswith("id: ")]
    assert (status, rest) == (200, ids[4:])
    assert served.ask("GET", "/api/v1/events?after=x", "ann")[0] == 400


def test_a_user_watches_nobody_else(served, monkeypatch):
    ann, bob = served.client("ann"), served.client("bob")
    bob.wait(bob.submit_bag("echo secret", repeat=1)["number"], 60)
    mine = ann.submit_bag("true", repeat=1)["number"]
    ann.wait(mine, 60)
    seen = []
    for event in ann.watch(after=0):
        seen.append(event)
        if event["event"] == "AttemptEnded":
            break
    assert "secret" not in str(seen)
    assert {one["work"] for one in seen if "work" in one} == {mine}
    assert all(line["user"] in ("ann", "") for line in ann.why())
    assert {line["user"] for line in served.client("admin").why()} >= {"ann", "bob"}
    monkeypatch.setattr(stream, "MOST_WATCHERS", 0)
    assert served.ask("GET", "/api/v1/events", "ann")[0] == 429


def test_an_autoscaler_tells_each_user_why_it_scaled(place):
    running = Served(place, partial(Served.begin, provisioner="react"))
    try:
        ann, bob = running.client("ann"), running.client("bob")
        ann.wait(ann.submit_bag("true", repeat=3)["number"], 60)
        scaled = [line for line in ann.why() if line["what"].startswith("scale ")]
        assert scaled[0]["what"] == "scale for ann to 2 own"
        assert scaled[0]["user"] == "ann"
        assert "2 slots to spare" in scaled[0]["why"]
        assert "demand 3, supply 0, load 3, target 5" in scaled[0]["why"]
        assert not any(line["user"] == "ann" for line in bob.why())
    finally:
        running.close()


def test_decisions_are_reported_with_their_reasons(served):
    ann = served.client("ann")
    ann.wait(ann.submit_bag("true", repeat=1)["number"], 60)
    reported = {line["what"]: line["why"] for line in ann.why()}
    assert any(what.startswith("+1 own") and why for what, why in reported.items())
    last = max(line["seq"] for line in ann.why())
    assert ann.why(after=last) == []


def test_figures_for_prometheus(served):
    served.client("ann").submit_bag(**ENDLESS)
    status, text = served.ask("GET", "/metrics", "admin")
    lines = text.splitlines()
    assert status == 200
    assert 'bursar_works_submitted_total{user="ann"} 1' in lines
    assert 'bursar_tasks_unsettled{user="bob"} 0' in lines
    assert any(line.startswith('bursar_http_requests_total{status="201"}') for line in lines)
    for line in lines:
        assert line.startswith(("# HELP ", "# TYPE ")) or float(line.rpartition(" ")[2]) >= 0
    own = served.ask("GET", "/metrics", "ann")[1]
    assert "bob" not in own and "requests" not in own


def test_what_is_not_there_is_reported_as_json(served):
    assert served.ask("GET", "/api/v1/nothing", "ann")[0] == 404
    assert served.ask("DELETE", "/api/v1/works", "ann")[0] == 405
    assert served.ask("GET", "/healthz") == (200, {"status": "ok"})
    assert served.ask("GET", "/")[0] == 200
    for number in ("0", "-1", "x", "9" * 30, "1%00"):
        assert served.ask("GET", f"/api/v1/works/{number}", "ann")[0] == 404


def test_tokens_are_nowhere_but_in_their_files(served):
    served.client("ann").submit_bag("true", repeat=1)
    tokens = served.service.directory / "tokens"
    assert tokens.stat().st_mode & 0o777 == 0o700
    assert {file.name for file in tokens.iterdir()} == {"admin", "ann", "bob"}
    secrets = []
    for file in tokens.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        secrets.append(file.read_text().strip())
    assert len({*secrets}) == 3 and all(len(one) >= 40 for one in secrets)
    for file in Path(served.service.directory).rglob("*"):
        if file.is_file() and file.parent != tokens:
            assert not any(secret.encode() in file.read_bytes() for secret in secrets), file
    for user in ("ann", "admin"):
        for path in ("/metrics", "/api/v1/why", "/api/v1/users", "/openapi.json"):
            assert not any(secret in str(served.ask("GET", path, user)) for secret in secrets)


def test_a_service_that_is_over_says_so(served):
    served.service.stop("enough", now=True)
    served.service.join()
    with pytest.raises(ServiceError, match="enough"):
        served.client("ann", patience=0).submit_bag("true", repeat=1)
    assert served.ask("POST", "/api/v1/bags", "ann", BAG)[0] == 503
    assert served.ask("GET", "/healthz")[0] == 503


def test_more_tasks_than_one_work_may_have(served, monkeypatch):
    monkeypatch.setattr(submissions, "MOST_TASKS", 1)
    assert served.ask("POST", "/api/v1/workflows", "ann", FLOW)[0] == 413


def test_a_burst_is_taken_or_put_off_and_nothing_of_it_is_lost(served, monkeypatch):
    monkeypatch.setattr(api, "MOST_AT_ONCE", 3)
    answers = []

    def send():
        answers.extend(served.ask("POST", "/api/v1/bags", "ann", BAG) for _ in range(20))

    threads = [threading.Thread(target=send) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    taken = [reported["number"] for status, reported in answers if status == 201]
    assert {status for status, _ in answers} <= {201, 429}
    assert sorted(taken) == list(range(1, len(taken) + 1)) and taken
    assert len(list(served.client("ann").works())) == len(taken)


def test_what_tasks_printed_is_there_for_their_user_alone(served, monkeypatch):
    monkeypatch.setattr("bursar.web.service.task_api.LOG_PART", 4)
    with served.client("ann") as ann:
        command = ["sh", "-c", "echo $1; echo wrong >&2; exit $2", "sh", "{1}", "{2}"]
        ann.submit_bag(command, [["a", "0"], ["bcdefgh", "3"]])
        ann.submit_workflow(FLOW, filename="flow.yaml")
        assert ann.wait(1, 60)["status"] == "failed"
        assert ann.wait(2, 60)["status"] == "done"
        assert b"".join(ann.log(1, 1)) == b"a\n"
        assert b"".join(ann.log(1, 2)) == b"bcdefgh\n"
        assert b"".join(ann.log(1, 2, "stderr")) == b"wrong\n"
        assert b"".join(ann.log(2, "second")) == b""
        (failed,) = ann.tasks(1, "failed")
        assert (failed["task"], failed["exit_code"]) == (2, 3)
        assert "wrong" in failed["why"]
        assert [one["status"] for one in ann.tasks(1)] == ["done", "failed"]
    for path in ("/works/1/tasks", "/works/1/tasks/1/log"):
        assert served.ask("GET", f"/api/v1{path}", "bob")[0] == 404
        assert served.ask("GET", f"/api/v1{path}")[0] == 401
    for task in ("0", "3", "-1", "..", "x"):
        assert served.ask("GET", f"/api/v1/works/1/tasks/{task}/log", "ann")[0] == 404
    assert served.ask("GET", "/api/v1/works/1/tasks?status=odd", "ann")[0] == 422
    assert served.ask("GET", "/api/v1/works/1/tasks/1/log?stream=../journal.db", "ann")[0] == 422


def test_a_log_of_several_gigabytes_can_be_read_to_its_end(served):
    served.client("ann").submit_bag("echo", repeat=1)
    assert served.client("ann").wait(1)["status"] == "done"
    file = served.service.directory / "outputs/1/stdout"
    with file.open("wb") as stream:
        stream.truncate(3 << 30)
        stream.seek((3 << 30) - 4)
        stream.write(b"end\n")
    place = f"/api/v1/works/1/tasks/1/log?after={(3 << 30) - 4}"
    assert served.ask("GET", place, "ann") == (200, "end\n")


def test_a_link_in_the_place_of_a_log_is_not_followed(served, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    with served.client("ann") as ann:
        link = f"cd $BURSAR_OUTPUT_DIR && rm stdout && ln -s {secret} stdout"
        ann.submit_bag(["sh", "-c", link], repeat=1)
        assert ann.wait(1, 60)["status"] == "done"
        status, answered = served.ask("GET", "/api/v1/works/1/tasks/1/log", "ann")
        assert (status, "secret" in str(answered)) == (404, False)
