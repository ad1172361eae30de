import pytest

from bursar.formats.market import parse_market
from bursar.model.errors import InputError
from bursar.model.money import Money
from bursar.model.time import HOUR, SECOND
from bursar.plan.pools.split import SlotRate, two_pools, unreliable_offers


def market(*offers):
    text = "".join(f"[[offer]]\n{offer}\n" for offer in offers)
    return parse_market(text)


SPOT = 'name="spot"\nprice="0.03"\nlimit=40\npool="unreliable"'
GRID = 'name="grid"\nprice="0.01"\nbilling="30m"\nlimit=10\nslots=2\nspeed=0.5\npool="unreliable"'
ON_DEMAND = 'name="on-demand"\nprice="0.001"\nbilling="1s"\nlimit=5\nslots=4\nspeed=2.0'
OWN = 'name="own"\nprice="0.34"'


def test_all_unreliable_offers_are_one_pool_and_the_cheapest_reliable_offer_the_other():
    found = two_pools(market(SPOT, GRID, ON_DEMAND, OWN))
    assert found.unreliable == 60
    mean = (40 * 30_000_000 + 20 * 10_000_000) // 60 + 1  # what is left over is rounded up
    assert found.unreliable_rate == SlotRate(Money(mean), HOUR)
    assert found.reliable_offer == "own", "a slot of on-demand costs $0.90 for an hour"
    assert found.reliable is None
    assert found.speedup == pytest.approx(1 / ((40 + 20 * 0.5) / 60))


def test_a_reliable_offer_may_be_named_and_its_price_is_shared_by_its_slots():
    found = two_pools(market(SPOT, ON_DEMAND, OWN), "on-demand")
    assert found.reliable == 20
    assert found.reliable_rate == SlotRate(Money.parse("0.00025"), SECOND)
    assert found.unreliable_rate == SlotRate(Money.parse("0.03"), HOUR)
    assert found.speedup == 2


def test_a_pool_has_no_limit_if_one_of_its_offers_has_none():
    assert two_pools(market(SPOT.replace("limit=40\n", ""), GRID, OWN)).unreliable is None


def test_an_offer_of_which_none_can_be_had_is_in_no_pool():
    none = SPOT.replace("40", "0")
    assert [offer.name for offer in unreliable_offers(market(none, GRID, OWN))] == ["grid"]


@pytest.mark.parametrize(
    ("offers", "name", "reported"),
    [
        ((OWN,), None, "no unreliable offer"),
        ((SPOT,), None, "no reliable offer"),
        ((SPOT, OWN), "spot", "'spot' is unreliable"),
        ((SPOT, OWN), "owl", "no offer 'owl'"),
        ((SPOT, OWN + "\nlimit=0"), "own", "limit of 0"),
        ((SPOT, OWN + "\nlimit=0"), None, "no reliable offer"),
    ],
)
def test_a_market_without_two_pools_is_reported_in_one_line(offers, name, reported):
    with pytest.raises(InputError, match=reported):
        two_pools(market(*offers), name)
