"""Over TLS: a client that trusts the certificate is served, another is not."""

import datetime
import ipaddress

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.web.service.conftest import Served

from bursar.client import Client, ServiceError
from bursar.model.errors import InputError
from bursar.web.listening import Listening


@pytest.fixture
def certificate(place):
    """A certificate of our own for 127.0.0.1, with its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bursar test")])
    now = datetime.datetime.now(datetime.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert, private = place / "cert.pem", place / "key.pem"
    cert.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return str(cert), str(private)


def test_a_service_with_a_certificate(place, certificate):
    served = Served(place, listening=Listening(tls_cert=certificate[0], tls_key=certificate[1]))
    try:
        assert served.url.startswith("https://")
        with Client(served.url, served.token("ann"), ca_file=certificate[0]) as client:
            assert client.submit_bag("true", repeat=1)["number"] == 1
        with (
            Client(served.url, served.token("ann"), patience=0) as stranger,
            pytest.raises(ServiceError, match="CERTIFICATE_VERIFY_FAILED"),
        ):
            stranger.work(1)
    finally:
        served.close()


def test_a_certificate_that_is_none_is_reported_in_one_line(place):
    (place / "cert.pem").write_text("nothing")
    (place / "key.pem").write_text("nothing")
    listening = Listening(tls_cert="cert.pem", tls_key="key.pem")
    with pytest.raises(InputError, match="cannot be used"):
        listening.server(lambda *_: None)
