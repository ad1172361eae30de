"""A scene with a guard, and offers for it."""

from __future__ import annotations

from bursar.engine.guard import Guard
from bursar.model.market import Offer
from bursar.model.money import ZERO, Money
from bursar.model.time import MINUTE, SECOND
from bursar.state import actions as act
from bursar.state import events as ev
from bursar.testing import Scene

HOURLY = Offer("hourly", Money.parse("0.10"), limit=3)
FINE = Offer("fine", Money.parse("0.001"), SECOND, minimum=MINUTE)
BARE = Offer("bare", Money.parse("0.001"), SECOND)
FREE = Offer("free", ZERO)


class GuardedScene:
    """A scene with a guard, whose decisions are carried out as the engine does."""

    def __init__(self, *offers, lead=0, **conditions):
        self.scene = Scene(*offers, **conditions)
        self.guard = Guard(self.scene.state, lead if callable(lead) else lambda offer: lead)

    def review(self, action):
        return self.guard.review(action, self.scene.at)

    def ask(self, action):
        verdict = self.review(action)
        if verdict is not None:
            self.scene.tell(verdict)
        return verdict

    def rent(self, offer="hourly", *, up=True):
        number = self.ask(act.Rent(offer)).machine
        if up:
            self.scene.up(number)
        return number

    def refusal(self, action):
        verdict = self.ask(action)
        assert isinstance(verdict, ev.ActionRefused), verdict
        assert verdict.action == type(action).__name__
        return verdict.why
