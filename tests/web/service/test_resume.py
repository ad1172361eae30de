"""A service that was killed goes on, and what it had answered is not forgotten."""

import os
import signal
import subprocess
import sys
import threading
import time

import msgspec
import pytest

from bursar.client import Client, ServiceError
from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.model.money import ZERO
from bursar.model.time import SECOND
from bursar.state import events as ev
from bursar.web.service.running import noted_address

MARKET = """
currency = "USD"
date = "2026-01-01"
[[offer]]
name = "small"
price = "0.01"
billing = "1s"
limit = 3
[[offer]]
name = "large"
price = "0.03"
billing = "1s"
limit = 1
speed = 2.0
"""
FLOW = b"""
name: triple
tasks:
  one: {run: "sleep 0.1; echo $$ > part", files: {out: part}}
  two: {run: "cat part > copy", files: {in: part, out: copy}}
  three: {run: "cat part copy > joined", files: {in: [part, copy], out: joined}}
"""
BUDGETS = {"ann": 15, "bob": 9}
"""cents in each interval"""
EVERY = 2
"""seconds"""
WORKFLOWS = 40


class Process:
    """`bursar serve` in a process of its own."""

    def __init__(self, place, *words):
        self.place, self.words = place, words
        self.errors = place / "errors.txt"
        self.clients = []
        self.start()

    def start(self):
        before = noted_address(self.home)
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bursar", "serve", *self.words],
                cwd=self.place,
                env={**os.environ, "NO_COLOR": "1"},
                stderr=errors,
            )
        self.wait_until_it_answers(before)

    @property
    def home(self):
        return self.place / ".bursar" / "service"

    def wait_until_it_answers(self, before):
        for _ in range(1200):
            assert self.process.poll() is None, self.errors.read_text()
            noted = noted_address(self.home)
            if noted is not None and (before is None or before.port == noted.port):
                try:
                    Client(noted.url, patience=0).work(1)
                except ServiceError as error:
                    if error.status == 401:
                        self.url = noted.url
                        return
            time.sleep(0.05)
        raise AssertionError(self.errors.read_text())

    def client(self, user):
        made = Client(self.url, token_file=self.home / "tokens" / user, patience=60)
        self.clients.append(made)
        return made

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def end(self):
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(60)
        return self.process.returncode


@pytest.fixture
def serve(tmp_path):
    (tmp_path / "market.toml").write_text(MARKET)
    started = []

    def start(*words):
        started.append(Process(tmp_path, *words))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_two_users_submit_forty_workflows_and_the_service_is_killed(serve):
    users = [f"--user={name}={cents / 100}/{EVERY}s" for name, cents in BUDGETS.items()]
    policies = ["--provision", "pfa:interval=1000000", "--place", "stretch"]
    words = ["--market", "market.toml", "--port", "0", *policies, *users]
    service = serve(*words)
    clients = {name: service.client(name) for name in BUDGETS}
    numbers = {name: [] for name in BUDGETS}

    def submit(name):
        with service.client(name) as client:
            for _ in range(WORKFLOWS // 2):
                numbers[name].append(client.submit_workflow(FLOW, filename="flow.yaml")["number"])
                time.sleep(0.1)

    threads = [threading.Thread(target=submit, args=(name,)) for name in BUDGETS]
    for thread in threads:
        thread.start()
    while len(numbers["ann"]) < 8:
        time.sleep(0.01)
    service.kill()  # while both submit; they go on when it is there again
    service.words = [*words[:3], str(noted_address(service.home).port), *words[4:]]
    service.start()
    for thread in threads:
        thread.join()
    assert sorted(numbers["ann"] + numbers["bob"]) == list(range(1, WORKFLOWS + 1))
    for name, client in clients.items():
        for number in numbers[name]:
            assert client.wait(number, 120)["status"] == "done"
        assert [one["number"] for one in client.works()] == numbers[name]
    check_strangers(service, clients, numbers)
    service.end()
    check_results(service.home)
    check_journal(service.home / "journal.db", numbers)


def check_strangers(service, clients, numbers):
    """A wrong token gets nothing, and no user reaches what is another's."""
    with Client(service.url, "wrong", patience=0) as stranger:
        with pytest.raises(ServiceError) as refused:
            stranger.work(1)
        assert refused.value.status == 401
    for number in numbers["ann"][:2]:
        for ask in (clients["bob"].work, clients["bob"].cancel):
            with pytest.raises(ServiceError) as refused:
                ask(number)
            assert refused.value.status == 404


def check_results(home):
    """Every workflow has its own files, whatever other works call theirs."""
    for number in range(1, WORKFLOWS + 1):
        files = home / "outputs" / ("files" if number == 1 else f"files-{number}")
        part = (files / "part").read_text()
        assert part and (files / "joined").read_text() == part * 2


def check_journal(journal, numbers):
    """By the events alone: budgets held in each interval, machines ran their account's tasks."""
    state = load_state(journal)
    state.check()
    with JournalReader(journal) as reader:
        events = list(reader.events())
    owners, tasks = {}, {}
    for event in events:
        if isinstance(event, ev.WorkArrived):
            number = len(owners) + 1
            owners[number] = event.work.owner
            tasks.update(dict.fromkeys(range(len(tasks) + 1, len(tasks) + 4), number))
    assert {
        name: [n for n, owner in owners.items() if owner == name] for name in numbers
    } == numbers
    rented = {one.machine: one for one in events if isinstance(one, ev.MachineRented)}
    for event in events:
        if isinstance(event, ev.AttemptStarted):
            assert rented[event.machine].account == owners[tasks[event.task]]
    done = [state.log.task[e.attempt] for e in events if _succeeded(e)]
    assert sorted(done) == list(range(1, 3 * WORKFLOWS + 1))
    for name, cents in BUDGETS.items():
        spent = committed_by_interval(events, state.market, name)
        assert spent and max(spent.values()) <= cents * 10_000_000, (name, spent)
        assert len(spent) > 1  # one interval would not have been enough


def _succeeded(event):
    return isinstance(event, ev.AttemptEnded) and event.outcome == "success"


def committed_by_interval(events, market, account):
    """Nanos for units that machines of an account entered, by the interval of that moment."""
    ends = {}
    for event in events:
        if isinstance(event, ev.MachineRented | ev.LeaseExtended):
            ends[event.machine] = event.until
        elif isinstance(event, ev.MachineDown):
            down = event.at if event.ended is None else event.ended
            ends[event.machine] = min(ends[event.machine], down)
    spent = {}
    for event in events:
        if not isinstance(event, ev.MachineRented) or event.account != account:
            continue
        offer, end = market[event.offer], ends[event.machine]
        entered = event.at
        while entered == event.at or entered < end:
            interval = entered // (EVERY * SECOND)
            spent[interval] = spent.get(interval, ZERO) + offer.price
            entered += offer.billing
    return {interval: money.nanos for interval, money in spent.items()}


def watched(service, number):
    with service.client("ann") as client:
        return list(client.watch(number))


def test_keys_and_priorities_survive_a_kill(serve):
    service = serve("--user=ann", "--port", "0")
    client = service.client("ann")
    first = client.submit_bag("sleep 1000", repeat=2, key="mine")
    client.set_priority(first["number"], 4)
    seen = []
    watching = threading.Thread(target=lambda: seen.extend(watched(service, first["number"])))
    watching.start()
    service.kill()
    port = str(noted_address(service.home).port)
    service.words = ["--user=ann", "--user=bob", "--port", port]  # one more user
    service.start()
    again = client.submit_bag("sleep 1000", repeat=2, key="mine")
    assert (again["number"], again["priority"]) == (first["number"], 4)
    assert [one["name"] for one in service.client("admin").users()] == ["ann", "bob"]
    assert any("resumed" in line["what"] for line in client.why())
    assert client.cancel(again["number"])["status"] == "cancelled"
    watching.join(60)
    kinds = [one["event"] for one in seen]
    assert kinds[0] == "WorkArrived" and "WorkCancelled" in kinds  # without a gap or a double
    assert [one["id"] for one in seen] == sorted({one["id"] for one in seen})
    assert kinds.count("WorkArrived") == kinds.count("PriorityChanged") == 1
    service.kill()
    service.words = ["--resume", "service"]
    service.start()
    assert client.work(again["number"])["status"] == "cancelled"
    assert msgspec.json.decode((service.home / "service.json").read_bytes())["port"] == int(port)


@pytest.mark.parametrize("provisioner", ["plf", "scf"])
def test_a_plan_is_followed_after_a_kill(serve, provisioner):
    """What was planned before is started by `follow`, which learns it from the journal."""
    policies = ["--provision", f"{provisioner}:interval=1000000", "--place", "follow"]
    words = ["--market", "market.toml", "--port", "0", *policies, "--user=ann=0.3/1s"]
    service = serve(*words)
    client = service.client("ann")
    numbers = [client.submit_workflow(FLOW, filename="flow.yaml")["number"] for _ in range(4)]
    assert until(lambda: any(line["what"].startswith("scale ") for line in client.why()))
    service.kill()
    service.words = [*words[:3], str(noted_address(service.home).port), *words[4:]]
    service.start()
    for number in numbers:
        assert client.wait(number, 120)["status"] == "done"
    service.end()
    with JournalReader(service.home / "journal.db") as reader:
        events = list(reader.events())
    planned = {task for e in events if isinstance(e, ev.ScaleDecided) for task in planned_in(e)}
    started = {event.task for event in events if isinstance(event, ev.AttemptStarted)}
    assert started == set(range(1, 3 * len(numbers) + 1))
    assert started <= planned, "nothing ran that no plan had"


def until(holds):
    """Whether something comes to hold, within a minute."""
    for _ in range(6000):
        if holds():
            return True
        time.sleep(0.01)
    return False


def planned_in(event):
    return [task for tasks in event.lines.values() for task in tasks]
