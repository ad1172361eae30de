"""How the parts of a run know each other: TLS with a certificate that is made for the run.

Those who bring a cluster bring its certificates, too, in Dask's own configuration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bursar.execute.remote.messages import Credentials

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
