"""The client: addresses, tokens, and services that do not answer."""

import pytest

from bursar.client import Client, ServiceError
from bursar.model.errors import InputError


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://x:port", "http://x:99999"])
def test_a_wrong_address_is_reported(url):
    with pytest.raises(InputError, match="http://HOST:PORT"):
        Client(url)


def test_a_service_that_is_not_there_is_reported(tmp_path):
    (tmp_path / "token").write_text("secret\n")
    with Client("127.0.0.1:9", token_file=tmp_path / "token", patience=0) as client:
        with pytest.raises(ServiceError, match="does not answer") as error:
            client.work(1)
        assert error.value.status is None
        assert "secret" not in str(error.value)
    with pytest.raises(InputError, match=r"' cannot be read: No such file or directory$"):
        Client("127.0.0.1:9", token_file=tmp_path / "nothing")
    (tmp_path / "odd").write_bytes(b"\xff")
    with pytest.raises(InputError, match="does not hold a token"):
        Client("127.0.0.1:9", token_file=tmp_path / "odd")
