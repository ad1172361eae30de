"""What tests look for in the actions of a provisioner."""

from bursar.state.actions import Rent


def rented_offers(actions):
    """The offer of each machine that is asked for, in order."""
    rents = [action for action in actions if isinstance(action, Rent)]
    return [rent.offer for rent in rents for _ in range(rent.count)]
