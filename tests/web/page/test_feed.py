"""A feed goes on when its journal cannot be read for a moment, and ends when it never can."""

from __future__ import annotations

import asyncio

import pytest
from tests.live_run import live_run

from bursar.journal.reader import JournalReader
from bursar.journal.runs import Home
from bursar.model.errors import JournalError
from bursar.model.work import Bag, Work
from bursar.report.page.watch import RunWatch
from bursar.state import events as ev
from bursar.web.page import feed


@pytest.fixture
def live(tmp_path, monkeypatch):
    """A run that goes on, and how to tell more of it; pages look at it without a pause."""
    monkeypatch.setattr(feed, "PACE_S", 0.01)
    monkeypatch.setattr(feed, "ALIVE_S", 0.2)
    with live_run(Home(tmp_path)) as run:
        yield run.run, run.tell


def unreadable(monkeypatch, times):
    """Let the journal be one that cannot be read, so many times after the snapshot."""
    read, left = RunWatch.catch_up, [None, *[JournalError("busy")] * times]

    def catch_up(watch):
        if left and (error := left.pop(0)) is not None:
            raise error
        return read(watch)

    monkeypatch.setattr(RunWatch, "catch_up", catch_up)


async def heard(run, tell, wanted):
    """Whether a viewer hears of work that arrives; False: the stream ended before."""
    found = feed.RunFeed(run)
    try:
        async with asyncio.timeout(60):
            async for message in found.events(None):
                if b"event: snapshot" in message:
                    tell(ev.WorkArrived(0, Work(Bag(7))))
                if wanted in message:
                    return True
        return False
    finally:
        await found.close()


@pytest.mark.parametrize("times", [0, feed.MOST_FAILURES - 1])
def test_a_journal_that_cannot_be_read_for_a_moment_is_read_later(live, monkeypatch, times):
    unreadable(monkeypatch, times)
    assert asyncio.run(heard(*live, b"of 7"))


def test_a_journal_that_cannot_be_read_any_more_ends_the_stream(live, monkeypatch):
    unreadable(monkeypatch, 10_000)
    assert not asyncio.run(heard(*live, b"of 7")), "a browser comes again, and is told why"


async def followed(run, tell, monkeypatch):
    """What is read of the journal while a viewer hears of three works: after which event each."""
    found, read = feed.RunFeed(run), []
    records = JournalReader.records
    wanted = [b"of 7", b"of 14", b"of 21"]

    def noted(reader, after=0):
        read.append(after)
        return records(reader, after)

    async with asyncio.timeout(60):
        async for message in found.events(None):
            if b"event: snapshot" in message:
                monkeypatch.setattr(JournalReader, "records", noted)
                tell(ev.WorkArrived(0, Work(Bag(7))))
            elif wanted[0] in message:
                wanted.pop(0)
                if not wanted:
                    break
                tell(ev.WorkArrived(0, Work(Bag(7))))
    await found.close()
    return read


def test_an_update_reads_what_is_new_and_nothing_else(live, monkeypatch):
    run, tell = live
    read = asyncio.run(followed(run, tell, monkeypatch))
    assert len(read) >= 3
    assert min(read) > 0, "never from the first event on"
    assert read == sorted(read)
