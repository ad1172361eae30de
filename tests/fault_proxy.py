"""A proxy before moto that fails as EC2 does, by the draws of a seed.

moto has no idempotent client tokens, ignores `MaxCount` above `MinCount`, knows no quota, and never
throttles, loses an answer, hides what is new, interrupts or boots slowly. This does.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from urllib.parse import parse_qsl, urlencode
from xml.etree import ElementTree

NAMESPACE = "http://ec2.amazonaws.com/doc/2016-11-15"
ElementTree.register_namespace("", NAMESPACE)
ANY_CALL = ("throttle", "internal", "refused", "lost", "done-but-internal", "slow")
"""ways in which any call fails; the last three are done all the same"""
SOME_CALLS = {
    "RunInstances": ("capacity", "fewer"),
    "DescribeInstances": ("hidden",),
    "TerminateInstances": ("unknown",),
}
"""more ways, of these only"""
LONGEST_ANSWER = 600.0
"""seconds for moto, which lists thousands slowly on a busy computer"""
HIDDEN = 1.0
"""seconds for which an instance may not be listed yet"""
ERRORS = {
    "throttle": (503, "RequestLimitExceeded", "Request limit exceeded."),
    "internal": (500, "InternalError", "An internal error has occurred"),
    "capacity": (500, "InsufficientInstanceCapacity", "Insufficient capacity."),
    "quota": (400, "VcpuLimitExceeded", "You have requested more vCPU capacity than your limit"),
    "mismatch": (400, "IdempotentParameterMismatch", "Arguments on this idempotent request differ"),
    "unknown": (400, "InvalidInstanceID.NotFound", "The instance ID does not exist"),
}
Answer = tuple[int, bytes]


class FaultProxy:
    """`share` of all calls fail; what else is said holds for all."""

    def __init__(
        self,
        port: int,
        *,
        seed: int = 0,
        share: float = 0.0,
        quota: int | None = None,
        capacity: int | None = None,
        boot: float = 0.0,
    ) -> None:
        """`quota`: instances at once; `capacity`: in one call; `boot`: seconds of pending."""
        self._moto = port
        self._rng = Random(f"faults/{seed}")
        self.share = share
        self.first = 0
        self.quota = quota
        self.capacity = capacity
        self.boot = boot
        self.thinking = 0.0
        """seconds that each list takes"""
        self.calls: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        """how many of them failed"""
        self.faults: Counter[str] = Counter()
        self.once: list[str] = []
        """faults of the next calls of RunInstances, before all others"""
        self._lock = threading.Lock()
        self._renting = threading.Lock()
        self._tokens: dict[str, tuple[str, Answer]] = {}
        self._began: dict[str, float] = {}
        """instances that were rented here, and when"""
        self._ended: set[str] = set()
        self._interrupted: dict[str, datetime] = {}
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                answer = proxy.answer(body, dict(self.headers))
                if answer is None:
                    return  # the line is cut
                self.send_response(answer[0])
                self.send_header("Content-Type", "text/xml")
                self.send_header("Content-Length", str(len(answer[1])))
                self.end_headers()
                self.wfile.write(answer[1])

            def log_message(self, *words: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def draw(self, seed: int, share: float, *, first: int = 0) -> None:
        """From now on this share of calls fails, by the draws of this seed.

        `first`: so many calls of each kind fail in any case, those that come first.
        """
        self._rng, self.share, self.first = Random(f"faults/{seed}"), share, first

    def reset(self) -> None:
        """No faults any more; what was rented before is forgotten."""
        self.share, self.quota, self.capacity, self.boot = 0.0, None, None, 0.0
        self.thinking, self.first = 0.0, 0
        self.once.clear()
        for table in (
            self.calls,
            self.failed,
            self.faults,
            self._tokens,
            self._began,
            self._interrupted,
        ):
            table.clear()
        self._ended.clear()

    def interrupt(self, instance: str) -> None:
        """Amazon wants the instance back, and says so; `take` takes it."""
        self._interrupted[instance] = datetime.now(UTC)

    def take(self, instance: str) -> None:
        body = {"Action": "TerminateInstances", "Version": "2016-11-15", "InstanceId.1": instance}
        self._forward(urlencode(body).encode(), {})

    # --- calls -----------------------------------------------------------------------------------

    def answer(self, body: bytes, headers: dict[str, str]) -> Answer | None:
        """None: the line is cut."""
        words = dict(parse_qsl(body.decode(), keep_blank_values=True))
        action = words["Action"]
        with self._lock:
            self.calls[action] += 1
            fault = self._fault_of(action)
        if fault in ("throttle", "internal", "capacity"):
            return _error(fault)
        if fault == "refused":
            return None
        if fault == "slow":
            time.sleep(0.3)
        if action.startswith("Describe"):
            time.sleep(self.thinking)
        done = self._do(action, words, headers, fault)
        if fault == "lost":
            return None
        return _error("internal") if fault == "done-but-internal" else done

    def _fault_of(self, action: str) -> str:
        if action == "RunInstances" and self.once:
            fault = self.once.pop(0)
        elif self.calls[action] <= self.first:
            fault = self._rng.choice(ANY_CALL)
        else:
            kinds = (*ANY_CALL, *SOME_CALLS.get(action, ()))
            fault = self._rng.choice(kinds) if self._rng.random() < self.share else ""
        if fault:
            self.faults[fault] += 1
            self.failed[action] += 1
        return fault

    def _do(
        self, action: str, words: dict[str, str], headers: dict[str, str], fault: str
    ) -> Answer:
        if action == "RunInstances":
            with self._renting:
                return self._rent(words, headers, fault)
        if action == "DescribeSpotInstanceRequests":
            return 200, self._requests()
        if fault == "unknown" and any(self._is_new(one) for one in _ids(words)):
            return _error("unknown")
        status, reported = self._forward(urlencode(words).encode(), headers)
        if action == "TerminateInstances" and status == 200:
            self._ended.update(_ids(words))
        if action == "DescribeInstances" and status == 200:
            reported = self._as_seen(reported, hides=fault == "hidden")
        return status, reported

    def _rent(self, words: dict[str, str], headers: dict[str, str], fault: str) -> Answer:
        """The same token gets the same answer, where it was given one."""
        token = words["ClientToken"]
        said = urlencode(sorted(words.items()))
        if token in self._tokens:
            before, answer = self._tokens[token]
            return answer if before == said else _error("mismatch")
        most = int(words["MaxCount"])
        if self.capacity is not None:
            most = min(most, self.capacity)
        if fault == "fewer":
            most = max(1, most // 2)
        if self.quota is not None:
            living = len(self._began) - len(self._ended & self._began.keys())
            if living + most > self.quota:
                return _error("quota")
        if most < int(words["MinCount"]):
            return _error("capacity")
        words = {**words, "MinCount": str(most), "MaxCount": str(most)}
        answer = self._forward(urlencode(words).encode(), headers)
        if answer[0] == 200:
            self._tokens[token] = (said, answer)
            for one in re.findall(r"<instanceId>(i-\w+)</instanceId>", answer[1].decode()):
                self._began.setdefault(one, time.monotonic())
        return answer

    def _forward(self, body: bytes, headers: dict[str, str]) -> Answer:
        kept = {name: value for name, value in headers.items() if name in _KEPT}
        kept.setdefault("Content-Type", "application/x-www-form-urlencoded")
        kept.setdefault("Authorization", _SIGNED)
        line = HTTPConnection("127.0.0.1", self._moto, timeout=LONGEST_ANSWER)
        try:
            line.request("POST", "/", body, kept)
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    # --- what is seen ----------------------------------------------------------------------------

    def _is_new(self, instance: str) -> bool:
        return time.monotonic() - self._began.get(instance, 0.0) < HIDDEN

    def _as_seen(self, reported: bytes, *, hides: bool) -> bytes:
        """Instances boot for a while, and may not be listed at first."""
        if not (self.boot or hides or self._interrupted):
            return reported
        tree = ElementTree.fromstring(reported)  # noqa: S314 (of moto)
        for group in tree.iterfind(".//{*}instancesSet"):
            for item in list(group):
                name = item.findtext("{*}instanceId") or ""
                if hides and self._is_new(name):
                    group.remove(item)
                    continue
                state = item.find("{*}instanceState")
                is_booting = time.monotonic() - self._began.get(name, 0.0) < self.boot
                if state.findtext("{*}name") == "running" and is_booting:
                    state.find("{*}code").text = "0"
                    state.find("{*}name").text = "pending"
                reason = item.find("{*}stateReason")
                if name in self._interrupted and reason is not None:
                    words = "Server.SpotInstanceTermination: Spot instance termination"
                    reason.find("{*}message").text = words
        return ElementTree.tostring(tree)

    def _requests(self) -> bytes:
        """Spot requests whose instances are about to be taken away."""
        items = "".join(
            f"<item><spotInstanceRequestId>sir-{number}</spotInstanceRequestId>"
            f"<instanceId>{instance}</instanceId><state>active</state><status>"
            f"<code>marked-for-termination</code><updateTime>{at:%Y-%m-%dT%H:%M:%S.000Z}</updateTime>"
            "</status></item>"
            for number, (instance, at) in enumerate(self._interrupted.items())
        )
        name = "DescribeSpotInstanceRequestsResponse"
        return (
            f'<{name} xmlns="{NAMESPACE}"><requestId>r</requestId>'
            f"<spotInstanceRequestSet>{items}</spotInstanceRequestSet></{name}>"
        ).encode()


_KEPT = ("Content-Type", "Authorization", "X-Amz-Date")
_SIGNED = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ec2/aws4_request, Signature=x"


def _ids(words: dict[str, str]) -> list[str]:
    return [value for name, value in words.items() if name.startswith("InstanceId.")]


def _error(kind: str) -> Answer:
    status, code, message = ERRORS[kind]
    text = f"<Errors><Error><Code>{code}</Code><Message>{message}</Message></Error></Errors>"
    return status, f"<Response>{text}<RequestID>r</RequestID></Response>".encode()
