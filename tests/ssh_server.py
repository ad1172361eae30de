"""A real sshd on loopback, with keys and a configuration made for the test and thrown away."""

from __future__ import annotations

import getpass
import shutil
import socket
import subprocess
import time
from pathlib import Path

from tests.dask_cluster import free_port

SSHD = shutil.which("sshd") or "/usr/sbin/sshd"
WHY_NOT = None
if not (Path(SSHD).exists() and shutil.which("ssh") and shutil.which("ssh-keygen")):
    WHY_NOT = "no sshd: apt-get install openssh-server openssh-client"


class SshServer:
    """Every name in `hosts` leads to this computer, each with agents of its own."""

    def __init__(self, directory, hosts=("ada", "grace", "edsger")):
        self.directory = Path(directory)
        self.port = free_port()
        self.hosts = hosts
        for key in ("host_key", "key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.directory / key],
                check=True,
            )
        self._write_configurations()
        Path("/run/sshd").mkdir(exist_ok=True)
        self.process = self.start()

    @property
    def command(self):
        """For BURSAR_SSH."""
        return f"ssh -F {self.directory}/config"

    def machine_dir(self, host):
        return self.directory / host

    def start(self):
        with (self.directory / "sshd.log").open("ab") as log:
            process = subprocess.Popen(
                [SSHD, "-D", "-e", "-f", self.directory / "sshd_config"], stderr=log
            )
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.02)
        self.process = process
        return process

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def _write_configurations(self):
        place = self.directory
        shutil.copy(place / "key.pub", place / "authorized_keys")
        (place / "sshd_config").write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {place}/host_key\n"
            f"AuthorizedKeysFile {place}/authorized_keys\nStrictModes no\nUsePAM no\n"
            "PasswordAuthentication no\nPermitRootLogin prohibit-password\n"
            f"AcceptEnv BURSAR_MACHINE_DIR\nPidFile {place}/sshd.pid\nMaxStartups 100\n"
        )
        blocks = [
            f"Host {host}\n  HostName 127.0.0.1\n  SetEnv BURSAR_MACHINE_DIR={place}/{host}\n"
            for host in self.hosts
        ]
        (place / "config").write_text(
            "".join(blocks) + f"Host *\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {place}/key\n  IdentitiesOnly yes\n"
            f"  UserKnownHostsFile {place}/known_hosts\n  StrictHostKeyChecking accept-new\n"
            "  LogLevel ERROR\n"
        )
