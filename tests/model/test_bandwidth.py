"""Bandwidths as people write them."""

from __future__ import annotations

import pytest

from bursar.model.bandwidth import read_bandwidth
from bursar.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "bytes_a_second"),
    [
        ("280 MB/s", 280e6),
        ("280MB/s", 280e6),
        ("1.5 GiB/s", 1.5 * 2**30),
        ("10 Gbit/s", 1.25e9),
        ("100 kB/s", 1e5),
        ("64B/s", 64),
    ],
)
def test_units_are_decimal_binary_or_bits(text, bytes_a_second):
    assert read_bandwidth(text) == bytes_a_second


@pytest.mark.parametrize("text", ["", "280", "280 MB", "MB/s", "0 MB/s", "-1 MB/s", "9 iB/s", 280])
def test_what_is_no_bandwidth_is_refused_with_an_example(text):
    with pytest.raises(InputError, match=r"280 MB/s|use 1 B/s to"):
        read_bandwidth(text)
