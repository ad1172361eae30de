"""Pi by throwing darts: 200 Python calls on the example market, for at most $2.00."""

from __future__ import annotations

from pathlib import Path
from random import Random

from bursar import BudgetExecutor, read_market

DARTS = 20_000


def hits(seed: int) -> int:
    """How many of the darts land in a quarter of a circle."""
    rng = Random(seed)
    return sum(rng.random() ** 2 + rng.random() ** 2 <= 1 for _ in range(DARTS))


def main() -> None:
    market = read_market(Path(__file__).with_name("market.toml"))
    with BudgetExecutor(market, budget="2.00", fleet={"small": 2, "large": 1}) as pool:
        total = sum(pool.map(hits, range(200)))
    money = pool.summary().money
    print(f"pi is about {4 * total / (200 * DARTS):.3f}")
    print(f"{money.committed} {money.currency} committed of {money.budget}")
    print(f"its decisions: bursar why {pool.run}")


if __name__ == "__main__":
    main()
