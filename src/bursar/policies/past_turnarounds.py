"""What came back to an unreliable pool before anybody watched, from the log of attempts."""

from __future__ import annotations

import msgspec
import numpy as np

from bursar.beliefs.past import SUCCESS, past_attempts
from bursar.model.time import Time
from bursar.state.view import View


class PastTurnarounds(msgspec.Struct, frozen=True):
    """In the order of their ends."""

    unreliable: list[Time]
    """how long each result of an unreliable machine took ..."""
    sent_before: list[int]
    """... and how many instances had been sent to such machines before"""
    sure: list[Time]
    """what each result of a reliable machine would have taken on the slowest unreliable one"""
    sent: int
    """instances that were sent to unreliable machines"""


def past_turnarounds(view: View) -> PastTurnarounds:
    past, offers = past_attempts(view), view.market.offers
    unreliable = np.array([offer.pool == "unreliable" for offer in offers])
    speeds = np.array([offer.speed for offer in offers])
    slowest = speeds[unreliable].min() if unreliable.any() else 1.0
    done = past.among(past.outcomes == SUCCESS)
    here = unreliable[done.offers]
    sure = np.maximum(1, np.rint(done.runtimes * speeds[done.offers] / slowest).astype(np.int64))
    live = [one.started for one in view.attempts.values() if one.machine.offer.pool == "unreliable"]
    sent = np.sort(np.concatenate([past.started[unreliable[past.offers]], live]))
    return PastTurnarounds(
        unreliable=(done.ended - done.started)[here].tolist(),
        sent_before=np.searchsorted(sent, done.ended[here]).tolist(),
        sure=sure[~here].tolist(),
        sent=len(sent),
    )
