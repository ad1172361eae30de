"""The client: addresses, tokens, and services that do not answer."""

from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from bursar.client import Client, ServiceError
from bursar.model.errors import InputError


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://x:port", "http://x:99999"])
def test_a_wrong_address_is_reported(url):
    with pytest.raises(InputError, match="http://HOST:PORT"):
        Client(url)


def test_a_service_that_is_not_there_is_reported(tmp_path):
    (tmp_path / "token").write_text("secret\n")
    with Client("127.0.0.1:9", token_file=tmp_path / "token", patience=0) as client:
        with pytest.raises(ServiceError, match="does not answer") as error:
            client.work(1)
        assert error.value.status is None
        assert "secret" not in str(error.value)
    with pytest.raises(InputError, match=r"' cannot be read: No such file or directory$"):
        Client("127.0.0.1:9", token_file=tmp_path / "nothing")
    (tmp_path / "odd").write_bytes(b"\xff")
    with pytest.raises(InputError, match="does not hold a token"):
        Client("127.0.0.1:9", token_file=tmp_path / "odd")


@pytest.fixture
def elsewhere():
    """A server that is no service: it answers everything alike."""

    class Answering(BaseHTTPRequestHandler):
        kind = "text/html"
        asked = 0

        def do_GET(self):
            type(self).asked += 1
            self.send_response(200)
            self.send_header("Content-Type", self.kind)
            self.end_headers()

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answering) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", Answering
        server.shutdown()
        thread.join()


def test_what_answers_with_something_else_is_not_watched(elsewhere):
    url, _ = elsewhere
    with Client(url, "secret") as client, pytest.raises(ServiceError, match="something else"):
        next(client.watch())


def test_a_proxy_that_closes_what_is_quiet_is_not_asked_without_a_pause(elsewhere, monkeypatch):
    url, answering = elsewhere
    answering.kind = "text/event-stream"
    pauses = []

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 8:
            raise KeyboardInterrupt

    monkeypatch.setattr("bursar.client.time.sleep", sleep)
    with Client(url, "secret") as client, pytest.raises(KeyboardInterrupt):
        next(client.watch())
    assert pauses[-1] == 1.0
    assert answering.asked == 8
