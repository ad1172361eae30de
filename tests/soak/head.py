"""bursar, whose machines are reached, and reach it, through lines that can be cut.

    python head.py SOCKET WORDS...          WORDS are those of bursar, SOCKET is that of `Links`

Two things differ from bursar: what scheduler an agent is told of, and where a Dask worker is found.
"""

from __future__ import annotations

import json
import socket
import sys
from urllib.parse import urlsplit

import msgspec

from bursar.cli.main import main
from bursar.execute.remote.clusters import OwnCluster


def through(path, machine, address):
    """The address of a line of this machine to that one."""
    parts = urlsplit(address)
    with socket.socket(socket.AF_UNIX) as end:
        end.connect(path)
        asked = {"machine": machine, "target": f"{parts.hostname}:{parts.port}"}
        end.sendall(json.dumps(asked).encode() + b"\n")
        port = int(end.makefile().readline())
    return f"{parts.scheme}://127.0.0.1:{port}"


def put_lines(path):
    plain_carrier, plain_workers = OwnCluster.carrier, OwnCluster.workers

    def carrier(self, token):
        made = plain_carrier(self, token)
        return msgspec.structs.replace(made, scheduler=through(path, made.name, made.scheduler))

    async def workers(self):
        return [
            one._replace(address=through(path, one.name.partition(".")[0], one.address))
            for one in await plain_workers(self)
        ]

    OwnCluster.carrier, OwnCluster.workers = carrier, workers


if __name__ == "__main__":
    put_lines(sys.argv[1])
    del sys.argv[1]
    sys.exit(main())
