"""The program on a machine: starts an agent, lists those that live, ends some.

What to do is on stdin, in one message, since it may hold a key and a command line is public:

    {"start": CONFIG}      begin an agent apart from this process; nothing if it lives already
    {"list": PREFIX}       print the tokens that begin so, one JSON string a line
    {"end": [TOKEN, ...]}  end these agents, and wait until they have ended

With an argument, the name of a file that holds a CONFIG, this process itself is the agent.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import msgspec

from bursar.execute.remote import messages as m
from bursar.execute.remote.agent import Agent
from bursar.execute.remote.places import AgentPlace, PlaceError, end_agent, found_agents


def be_agent(config: m.AgentConfig) -> None:
    """Serve until the machine is over; nothing if its agent lives already."""
    place = AgentPlace.take(config.token)
    if place is None:
        return
    try:
        _serve(config, place, None)
    finally:
        place.close()


def start(config: m.AgentConfig) -> None:
    """Begin an agent that outlives this process, and return when it can be reached."""
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.close(reader)
        os.setsid()
        if os.fork() == 0:
            _begin_apart(config, writer)
        os._exit(0)
    os.close(writer)
    os.wait()
    with os.fdopen(reader, "rb") as stream:
        answer = stream.read()
    if answer != b"ready":
        sys.exit(answer.decode(errors="replace") or "the agent ended at once")


def _begin_apart(config: m.AgentConfig, writer: int) -> None:
    try:
        place = AgentPlace.take(config.token)
        if place is None:
            os.write(writer, b"ready")
            os._exit(0)
        _redirect(place.path / "agent.log")
        try:
            _serve(config, place, writer)
        finally:
            place.close()
    except BaseException as error:
        os.write(writer, f"{type(error).__name__}: {error}".encode()[:1000])
        os._exit(1)
    os._exit(0)


def _serve(config: m.AgentConfig, place: AgentPlace, writer: int | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    agent = Agent(config, place)
    if writer is not None:
        os.write(writer, b"ready")
        os.close(writer)
    agent.run()


def _redirect(log: Path) -> None:
    """Let go of what the one who started this process reads or writes."""
    nothing = os.open(os.devnull, os.O_RDWR)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for number, target in ((0, nothing), (1, file), (2, file)):
        os.dup2(target, number)


def main() -> None:
    if len(sys.argv) > 1:
        data = Path(sys.argv[1]).read_bytes()
        be_agent(msgspec.msgpack.decode(data, type=m.AgentConfig))
        return
    request = msgspec.msgpack.decode(sys.stdin.buffer.read())
    try:
        if "start" in request:
            start(msgspec.convert(request["start"], m.AgentConfig))
        for one in found_agents() if "list" in request else ():
            if one.token.startswith(request["list"]):
                print(json.dumps(one.token))
        for token in request.get("end", ()):
            end_agent(token)
    except PlaceError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
