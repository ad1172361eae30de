"""Every request: Host and Origin are checked, and answers tell browsers to be strict."""

import asyncio

import pytest

from bursar.model.errors import InputError
from bursar.web.answers import answer
from bursar.web.listening import Listening
from bursar.web.security import SecurityMiddleware


def asked(headers, hosts=frozenset({"localhost", "127.0.0.1", "::1"})):
    """The status and the headers of an answer."""
    sent = []

    async def send(message):
        sent.append(message)

    app = SecurityMiddleware(answer({"fine": True}), hosts)
    scope = {"type": "http", "headers": [(k.encode(), v.encode()) for k, v in headers]}
    asyncio.run(app(scope, None, send))
    return sent[0]["status"], dict(sent[0]["headers"])


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "127.0.0.1:1", "[::1]:8765"])
def test_names_of_this_computer_are_answered(host):
    status, headers = asked([("host", host)])
    assert status == 200
    assert headers[b"x-content-type-options"] == b"nosniff"
    assert b"default-src 'self'" in headers[b"content-security-policy"]


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("host", "evil.example")],
        [("host", "localhost.evil.example:8765")],
        [("host", "localhost"), ("host", "evil.example")],
        [("host", "[::1")],
    ],
)
def test_a_name_that_the_server_does_not_have_is_refused(headers):
    assert asked(headers)[0] == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:1", ""])
def test_pages_of_other_sites_are_refused(origin):
    assert asked([("host", "localhost:8765"), ("origin", origin)])[0] == 403
    assert asked([("host", "localhost:8765"), ("origin", "http://localhost:8765")])[0] == 200


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_loopback_needs_no_tls(host):
    Listening(host=host).check()


def test_other_addresses_need_tls_or_a_proxy(tmp_path):
    for host in ("192.0.2.7", "::", "example.org"):
        with pytest.raises(InputError, match="tokens would travel in the clear"):
            Listening(host=host).check()
        Listening(host=host, behind_proxy=True).check()
    with pytest.raises(InputError, match="both --tls-cert and --tls-key"):
        Listening(host="192.0.2.7", tls_cert="cert.pem").check()
    with pytest.raises(InputError, match="does not exist"):
        Listening(tls_cert=str(tmp_path / "a"), tls_key=str(tmp_path / "b")).check()


def test_a_port_that_is_taken_is_reported_in_one_line():
    with Listening().bind() as bound:
        port = bound.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}"):
            Listening(port=port).bind()
