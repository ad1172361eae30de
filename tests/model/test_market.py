"""Offers: what may take their machines away at the same time."""

from __future__ import annotations

from bursar.model.market import Offer, Place, have_in_common
from bursar.model.money import ZERO


def offer(name, machine_type="", zone=""):
    return Offer(name, ZERO, place=Place(instance_type=machine_type, zone=zone))


def test_machines_of_one_type_in_one_zone_have_most_in_common():
    here, there = offer("a", "c5", "1a"), offer("b", "c5", "1b")
    assert have_in_common(here, offer("x", "c5", "1a")) == 2
    assert have_in_common(here, there) == 1
    assert have_in_common(here, offer("x", "m5", "1a")) == 1
    assert have_in_common(here, offer("x", "m5", "1b")) == 0


def test_the_type_is_the_name_unless_the_place_tells_it():
    plain = Offer("c5", ZERO)
    assert (plain.machine_type, plain.zone) == ("c5", "")
    assert have_in_common(plain, offer("a", "c5", "1a")) == 1


def test_zones_that_nobody_tells_are_not_the_same():
    assert have_in_common(Offer("a", ZERO), Offer("b", ZERO)) == 0
