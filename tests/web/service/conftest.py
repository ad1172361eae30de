"""A service with its server in this process, on a port that is free."""

import http.client
import json
import threading

import pytest

from bursar.client import Client
from bursar.execute.staging import COPIED
from bursar.formats.market import parse_market
from bursar.model.goal import Account, Goal
from bursar.runs.request import Request
from bursar.runs.service import Service
from bursar.web.listening import Listening
from bursar.web.service.app import make_app
from bursar.web.service.auth import tokens_of
from bursar.web.service.feed import Feed

FREE = parse_market(
    'currency = "USD"\ndate = "2026-01-01"\n[[offer]]\nname = "own"\nbilling = "free"\nlimit = 2\n'
)
FLOW = b"""
name: pair
tasks:
  first: {run: "echo one > part", files: {out: part}}
  second: {run: "cat part part > joined", files: {in: part, out: joined}}
"""


class Served:
    """The service of two users, `ann` and `bob`."""

    def __init__(self, path, begin=None, listening=None):
        listening = listening or Listening()
        self.clients = []
        self.feed = Feed()
        self.service = (begin or self.begin)(self.feed)
        users = [one.name for one in self.service.state.goal.accounts]
        self.socket = listening.bind()
        self.url = listening.url(self.socket)
        tokens = tokens_of(self.service.directory, users)
        self.app = make_app(self.service, self.feed, tokens, listening.allowed_hosts())
        self.server = listening.server(self.app)
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()

    @staticmethod
    def begin(feed, provisioner="fixed"):
        accounts = (Account("ann"), Account("bob"))
        request = Request(
            market=FREE,
            goal=Goal(accounts=accounts),
            policies={"placer": "priority", "provisioner": provisioner},
            files=COPIED,
            takes_workflows=True,
            name="service",
        )
        return Service.begin(request, feed)

    def token(self, user):
        return (self.service.directory / "tokens" / user).read_text().strip()

    def client(self, user, **settings):
        made = Client(self.url, self.token(user), **settings)
        self.clients.append(made)
        return made

    def ask(self, method, path, user=None, body=None, headers=None):
        """The status and what is answered, without anything that a client does for its user."""
        sent = dict(headers or {})
        if user is not None:
            sent["Authorization"] = f"Bearer {self.token(user)}"
        connection = http.client.HTTPConnection("127.0.0.1", self.socket.getsockname()[1])
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            text = response.read()
        finally:
            connection.close()
        is_json = response.headers.get("content-type") == "application/json"
        return response.status, json.loads(text) if is_json else text.decode()

    def close(self):
        for client in self.clients:
            client.close()
        self.service.stop("the test is over", now=True)
        self.service.join()
        self.server.should_exit = True
        self.thread.join(30)
        self.socket.close()
        assert not self.thread.is_alive()


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BURSAR_HOME", raising=False)
    return tmp_path


@pytest.fixture
def served(place):
    running = Served(place)
    yield running
    running.close()
