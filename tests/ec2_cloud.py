"""EC2 on this computer: moto keeps the instances, and processes here play those that it runs.

    bursar --> (the fault proxy) --> moto <-- the player: runs the user data of running instances

A played machine is a shell that runs the very user data that bursar gave. Its `shutdown` is a
program that tells the player, which ends the machine as EC2 would: whether that terminates the
instance is what bursar asked of EC2. Time may pass faster for the switches of machines.
"""

from __future__ import annotations

import base64
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import threading
import time
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
from botocore.config import Config
from tests.dask_cluster import eventually
from tests.fault_proxy import LONGEST_ANSWER, FaultProxy
from tests.workplace import Workplace, command_of

MOTO = (sys.executable, Path(__file__).with_name("moto_process.py"))
SECRET = "hush-AKIA-this-must-be-nowhere"
IMAGE = "ami-12c6146b"
"""one of those that moto has"""
REGION = "us-east-1"
CLOUD_MARKET = f"""
[[offer]]
name = "small"
price = "0.085/h"
billing = "1s"
minimum = "60s"
slots = 2
limit = 2
instance_type = "c5.large"
image = "{IMAGE}"
"""
SECONDLY = 0.000023611
"""what a second of it costs: money is counted in billionths"""
SHUTDOWN = """#!/bin/sh
# shutdown -P WHEN: the player reads it
echo "$2" > "$PLAYED/when.part" && mv "$PLAYED/when.part" "$PLAYED/when"
"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as one:
        return one.getsockname()[1]


class Moto:
    """A server of moto; `reset` forgets everything."""

    def __init__(self, place: Path) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._log = (place / "moto.log").open("wb")
        self._process = subprocess.Popen(
            [*MOTO, "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self.pid = self._process.pid
        assert eventually(self._answers, 60), "moto does not start"
        self.client = make_client(self.url)

    def environment(self, url: str = "") -> dict[str, str]:
        return {
            "AWS_ENDPOINT_URL": url or self.url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def instances(self, *states: str) -> list[dict]:
        """In these states; all, if none is named."""
        pages = self.client.get_paginator("describe_instances").paginate()
        found = [one for page in pages for r in page["Reservations"] for one in r["Instances"]]
        return [one for one in found if not states or one["State"]["Name"] in states]

    def living(self) -> list[str]:
        return [one["InstanceId"] for one in self.instances("pending", "running", "stopped")]

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()
        self._log.close()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def make_client(url: str, region: str = REGION):
    return boto3.client(
        "ec2",
        endpoint_url=url,
        region_name=region,
        aws_access_key_id="test",
        aws_secret_access_key=SECRET,
        config=Config(
            retries={"mode": "standard", "total_max_attempts": 3}, read_timeout=LONGEST_ANSWER
        ),
    )


class _Played:
    """A machine: a shell with user data, and what its switch says."""

    def __init__(self, instance: dict, script: str, place: Path, metadata: str) -> None:
        self.id = instance["InstanceId"]
        self.place = place
        self.sign = f"PLAYED={place}"
        place.mkdir(parents=True)
        self.agents = tempfile.mkdtemp()
        """short, as the name of a socket must be"""
        (place / "user-data").write_text(script)
        programs = place / "bin"
        programs.mkdir()
        (programs / "shutdown").write_text(SHUTDOWN)
        (programs / "shutdown").chmod(stat.S_IRWXU)
        environment = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "PLAYED": str(place),
            "BURSAR_MACHINE_DIR": self.agents,
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"{metadata}/{instance['AmiLaunchIndex']}",
        }
        environment |= {name: os.environ[name] for name in ("HOME", "TMPDIR") if name in os.environ}
        with (place / "log").open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", str(place / "user-data")],
                cwd=place,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.left: float | None = None
        """seconds until the switch fires; None: it is not set"""
        self.orders: list[str] = []
        """what `shutdown` was told"""

    def has_turned_off(self, passed: float) -> bool:
        try:
            when = (self.place / "when").read_text().strip()
            (self.place / "when").unlink()
        except FileNotFoundError:
            pass
        else:
            self.orders.append(when)
            self.left = 0.0 if when == "now" else int(when.removeprefix("+")) * 60.0
        if self.left is not None:
            self.left -= passed
        return self.left is not None and self.left <= 0

    def processes(self) -> list[int]:
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal():
                try:
                    if self.sign.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def power_off(self) -> None:
        """At once, as where somebody pulls the plug."""
        while numbers := [n for n in self.processes() if not _is_zombie(n)]:
            for number in numbers:
                try:
                    os.kill(number, signal.SIGKILL)
                except ProcessLookupError:
                    continue
            self.process.poll()
            time.sleep(0.02)
        self.process.wait()
        shutil.rmtree(self.agents, ignore_errors=True)


def _is_zombie(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2].startswith("Z")
    except OSError:
        return True


class _Metadata(BaseHTTPRequestHandler):
    """What a machine asks about itself; the launch index is the first word of the path."""

    def do_PUT(self) -> None:
        self._say("a-token")

    def do_GET(self) -> None:
        assert self.headers["X-aws-ec2-metadata-token"] == "a-token"
        assert self.path.endswith("/latest/meta-data/ami-launch-index")
        self._say(self.path.split("/")[1])

    def _say(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *words: object) -> None:
        pass


class Player:
    """Plays all instances that moto runs; those that it ended are powered off."""

    def __init__(self, moto: Moto, place: Path) -> None:
        self._moto = moto
        self._place = place
        self.rate = 1.0
        """seconds that pass for switches in a second"""
        self.machines: dict[str, _Played] = {}
        self.played: list[_Played] = []
        self._ignored = {one["InstanceId"] for one in moto.instances()}
        self._metadata = ThreadingHTTPServer(("127.0.0.1", 0), _Metadata)
        self._threads = [
            threading.Thread(target=self._metadata.serve_forever, args=(0.05,), daemon=True),
            threading.Thread(target=self._play, daemon=True),
        ]
        self._over = threading.Event()
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._over.set()
        self._metadata.shutdown()
        self._metadata.server_close()
        for thread in self._threads:
            thread.join()
        for machine in self.machines.values():
            machine.power_off()
        living = set(self._moto.living()) - self._ignored
        if living:
            self._moto.client.terminate_instances(InstanceIds=list(living))

    def _play(self) -> None:
        last = time.monotonic()
        while not self._over.wait(0.1):
            now = time.monotonic()
            passed, last = (now - last) * self.rate, now
            running = {one["InstanceId"]: one for one in self._moto.instances("running")}
            for id_ in [one for one in self.machines if one not in running]:
                self.machines.pop(id_).power_off()
            for id_, instance in running.items():
                if id_ not in self.machines and id_ not in self._ignored:
                    self._begin(instance)
            for machine in list(self.machines.values()):
                if machine.has_turned_off(passed):
                    self._turn_off(machine)

    def _begin(self, instance: dict) -> None:
        id_ = instance["InstanceId"]
        reported = self._moto.client.describe_instance_attribute(
            InstanceId=id_, Attribute="userData"
        )
        script = base64.b64decode(reported["UserData"]["Value"]).decode()
        url = f"http://127.0.0.1:{self._metadata.server_port}"
        machine = _Played(instance, script, self._place / id_, url)
        self.machines[id_] = machine
        self.played.append(machine)

    def _turn_off(self, machine: _Played) -> None:
        """What the instance does then is what EC2 was told."""
        machine.power_off()
        del self.machines[machine.id]
        attribute = "instanceInitiatedShutdownBehavior"
        reported = self._moto.client.describe_instance_attribute(
            InstanceId=machine.id, Attribute=attribute
        )
        if reported["InstanceInitiatedShutdownBehavior"]["Value"] == "terminate":
            self._moto.client.terminate_instances(InstanceIds=[machine.id])
        else:
            self._moto.client.stop_instances(InstanceIds=[machine.id])


class Cloud(Workplace):
    """The machines that bursar rents from here."""

    def __init__(self, moto, directory):
        self.moto = moto
        self.proxy = FaultProxy(moto.port)
        self.player = Player(moto, directory / "machines")
        work = directory / "work"
        work.mkdir()
        (work / "ec2.toml").write_text(CLOUD_MARKET)
        super().__init__(work, **moto.environment(self.proxy.url))

    def tasks(self):
        """Processes of tasks on all machines."""
        return [n for n in self.processes_of_machines() if "task.sh" in command_of(n)]

    def processes_of_machines(self):
        return [n for one in list(self.player.machines.values()) for n in one.processes()]

    def machine_places(self):
        return [place for one in self.player.played for place in (one.place, one.agents)]

    def batch_secrets(self):
        """Which let a machine enrol once."""
        scripts = [(one.place / "user-data").read_text() for one in self.player.played]
        return [re.search(r'"secret":"(\w+)"', script)[1] for script in scripts]

    def costs(self) -> dict[str, float]:
        """What Amazon would charge for each instance that was played, by moto's own record.

        Some rounding of seconds aside; a minute is the least.
        """
        found = {}
        mine = {one.id for one in self.player.played}
        for one in self.moto.instances("terminated"):
            if one["InstanceId"] in mine:
                said = one["StateTransitionReason"].partition("(")[2].removesuffix(" UTC)")
                ended = datetime.strptime(f"{said} +0000", "%Y-%m-%d %H:%M:%S %z")
                stay = (ended - one["LaunchTime"]).total_seconds() - 1
                found[one["InstanceId"]] = max(60.0, stay) * SECONDLY
        return found
