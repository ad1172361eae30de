"""SIGKILL at any moment: nothing is lost, nothing counts twice, nothing is left behind."""

import json
import os
import signal
import time
from pathlib import Path
from random import Random

from bursar.journal.reader import JournalReader
from bursar.journal.replay import load_state
from bursar.model.money import ZERO
from bursar.state import events as ev

KILLS = 20
TASKS = 150


def processes_of(run):
    """Living processes that carry this run's mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != os.getpid():
            try:
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if f"BURSAR_RUN={run}".encode() in environment and state != "Z":
                found.append(entry.name)
    return found


def test_a_run_survives_twenty_kills(place):
    place.script(
        "task.sh",
        'sleep 0.1 & setsid sleep 0.1 & echo "$1" > "$BURSAR_OUTPUT_DIR/value"; sleep 0.04; wait',
    )
    rng, run = Random(2), f"crash-{os.getpid()}"
    words = ["run", "-m", "market.toml", "-b", "50", "--name", run, "-q", "./task.sh {}", ":::"]
    process = place.popen(*words, *map(str, range(1, TASKS + 1)))
    journal = place.path / ".bursar" / run / "journal.db"
    while not place.outputs(run).exists():
        time.sleep(0.01)
    for _ in range(KILLS):
        time.sleep(0.8 * rng.random())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=30)
        process = place.popen("resume", run, "--json")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert json.loads(out)["tasks"] == {"total": TASKS, "done": TASKS, "failed": 0}
    check_journal(journal)
    for task in range(1, TASKS + 1):
        assert (place.outputs(run) / str(task) / "value").read_text() == f"{task}\n"
    leftovers = {p.name for p in place.outputs(run).iterdir()} - {str(t) for t in range(TASKS + 1)}
    assert leftovers <= {".attempts"}
    assert not list((place.outputs(run) / ".attempts").glob("*"))
    time.sleep(0.5)
    assert processes_of(run) == []


def check_journal(journal):
    """Every task was won once, and the ledger is the sum of what the leases say."""
    state = load_state(journal)
    state.check()
    with JournalReader(journal) as reader:
        events = list(reader.events())
    won = [e for e in events if isinstance(e, ev.AttemptEnded) and e.outcome == "success"]
    tasks = [state.log.task[e.attempt] for e in won]
    assert sorted(tasks) == list(range(1, TASKS + 1))
    total = ZERO
    for rented in (e for e in events if isinstance(e, ev.MachineRented)):
        (down,) = [
            e for e in events if isinstance(e, ev.MachineDown) and e.machine == rented.machine
        ]
        ended = down.at if down.ended is None else down.ended
        offer = state.market[rented.offer]
        total += offer.price * max(1, -(-(ended - rented.at) // offer.billing))
    assert total == state.ledger.committed == state.ledger.spent
