"""The program that the user data of a rented machine start: it enrols, and is the agent then.

On stdin is an `Invitation` as JSON. Which machine of its batch this is, the provider's metadata
service says. It asks until bursar answers; the dead man's switch ends that.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import urllib.request
from secrets import token_hex
from typing import Final

import msgspec

from bursar.execute.remote.agent_main import be_agent
from bursar.execute.remote.enrolment import (
    TIMEOUT,
    EnrolAnswer,
    EnrolRequest,
    client_context,
    receive,
    send,
)
from bursar.execute.remote.messages import AgentConfig, encode
from bursar.model.number_ranges import read_ranges

METADATA: Final = "http://169.254.169.254"
"""where a machine of EC2 learns about itself, unless AWS_EC2_METADATA_SERVICE_ENDPOINT says so"""
PAUSE: Final = 1.0
"""seconds before bursar is asked again"""


class Invitation(msgspec.Struct, frozen=True):
    """What a machine knows when it is rented: no key, and nothing that is of use twice."""

    address: str
    certificate: str
    """of the one who answers"""
    batch: str
    secret: str


def launch_index() -> int:
    """The number of this machine among those that were rented with it, from 0."""
    base = os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", METADATA).rstrip("/")
    lifetime = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    asked = urllib.request.Request(f"{base}/latest/api/token", headers=lifetime, method="PUT")  # noqa: S310
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:  # noqa: S310
        token = answer.read().decode()
    asked = urllib.request.Request(  # noqa: S310
        f"{base}/latest/meta-data/ami-launch-index",
        headers={"X-aws-ec2-metadata-token": token},
    )
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:  # noqa: S310
        return int(answer.read())


def ask(invitation: Invitation, machine: int, nonce: str) -> EnrolAnswer:
    """OSError if nobody answers, or somebody else does."""
    host, _, port = invitation.address.rpartition(":")
    request = EnrolRequest(invitation.batch, machine, invitation.secret, nonce)
    with socket.create_connection((host, int(port)), TIMEOUT) as line:
        context = client_context(invitation.certificate)
        with context.wrap_socket(line) as secured:
            send(secured, encode(request))
            return msgspec.msgpack.decode(receive(secured), type=EnrolAnswer)


def enrol(invitation: Invitation) -> AgentConfig:
    """The configuration of this machine, as soon as bursar gives it; ends where it is refused."""
    nonce, machine, logged = token_hex(16), 0, ""
    while True:
        try:
            machine = machine or read_ranges(invitation.batch)[launch_index()]
            answer = ask(invitation, machine, nonce)
            if answer.config is not None:
                return answer.config
            if answer.is_final:
                sys.exit(f"bursar refuses machine {machine}: {answer.error}")
            why = answer.error
        except (OSError, ValueError, msgspec.DecodeError) as error:
            why = f"{type(error).__name__}: {error}"
        if why != logged:
            print(f"waiting for bursar at {invitation.address}: {why}", file=sys.stderr)
        logged = why
        time.sleep(PAUSE)


def main() -> None:
    be_agent(enrol(msgspec.json.decode(sys.stdin.buffer.read(), type=Invitation)))


if __name__ == "__main__":
    main()
