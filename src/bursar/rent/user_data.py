"""The user data of a rented machine: the script that it runs when it has booted.

First of all it sets the dead man's switch, so that it turns itself off before the end of its first
lease whatever else fails; the provider has the order to give up a machine that turns itself off.
Then it starts bursar's program, which enrols it. When that ends, it turns itself off.
"""

from __future__ import annotations

import shlex
from typing import Final

import msgspec

from bursar.execute.remote.dead_man_switch import MARGIN
from bursar.execute.remote.enrol import Invitation
from bursar.model.time import SECOND, Time

LONGEST_SETUP: Final = 8_000
"""letters of a setup command, since EC2 takes 16 kB of user data in all"""
_SCRIPT: Final = """\
#!/bin/sh
# A machine of bursar. It turns itself off before its lease ends, by the clock or by what was left.
left=$(( {expires} - $(date +%s) ))
[ "$left" -le {stay} ] || left={stay}
minutes=$(( (left - {margin}) / 60 ))
[ "$minutes" -ge 1 ] || minutes=now
[ "$minutes" = now ] || minutes="+$minutes"
shutdown -P "$minutes"
[ "$minutes" = now ] && exit 1
umask 077
{setup}
{python} -P -m bursar.execute.remote.enrol <<'BURSAR'
{invitation}
BURSAR
shutdown -P now
"""


def user_data(
    invitation: Invitation, stay: Time, now: float, *, python: str, setup: str = ""
) -> str:
    """For machines whose first leases end `stay` from `now`, in seconds since 1970."""
    return _SCRIPT.format(
        expires=int(now + stay / SECOND),
        stay=stay // SECOND,
        margin=MARGIN // SECOND,
        setup=setup or ":",
        python=shlex.quote(python),
        invitation=msgspec.json.encode(invitation).decode(),
    )
