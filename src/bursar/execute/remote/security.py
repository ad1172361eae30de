"""How the parts of a run know each other: TLS with a certificate that is made for the run.

Those who bring a cluster bring its certificates, too, in Dask's own configuration.

Dask unpickles what a peer sends, also where it was asked for plain values only
(`distributed.protocol.core.loads`), and a pickle can do anything. So nothing may be read from a
peer before it has proved who it is.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bursar.execute.remote.messages import Credentials
from bursar.model.errors import InputError

if TYPE_CHECKING:
    from distributed import Security


def make_credentials() -> Credentials:
    """A certificate that signs itself: only those who have its key are heard."""
    from distributed import Security

    made = Security.temporary()
    return Credentials(made.tls_client_cert, made.tls_client_key)


def own_address() -> str:
    """By which other computers reach this one, as far as one can know."""
    from distributed.utils import get_ip

    return str(get_ip())


def security_of(credentials: Credentials) -> Security:
    """What Dask makes of it; of empty ones, what its own configuration says."""
    from distributed import Security

    if not credentials.key:
        return Security()
    certificate, key = credentials.certificate, credentials.key
    return Security(
        require_encryption=True,
        tls_ca_file=certificate,
        tls_client_cert=certificate,
        tls_client_key=key,
        tls_scheduler_cert=certificate,
        tls_scheduler_key=key,
        tls_worker_cert=certificate,
        tls_worker_key=key,
    )


class UnprovedPeerError(InputError):
    """A peer that nobody can tell from one that only has its address."""


def require_proof(address: str, security: Security) -> None:
    """UnprovedPeerError for a peer that neither has TLS nor is on this computer."""
    parts = urlsplit(address)
    if parts.scheme == "tls":
        if security.tls_ca_file is None:
            raise UnprovedPeerError(
                f"{address}: Dask's configuration does not say who signed its certificate:"
                " set distributed.comm.tls.ca-file"
            )
    elif not _is_loopback(parts.hostname or ""):
        raise UnprovedPeerError(
            f"{address} has no TLS: others in its network can pretend to be it, and then run code"
            " on this computer"
        )


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False  # another name, which may lead anywhere
