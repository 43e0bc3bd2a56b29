"""Simulated weak orders: their utilities, their cuts, and what the oracle sees."""

import numpy as np
import pytest
from scipy.special import logsumexp

from models.partitioned_preference.simulate import simulate_partitions


def test_utilities_are_logarithms_of_shares_within_a_factor_of_the_number_of_items():
    w = simulate_partitions(200, 1, seed=3).utility
    assert logsumexp(w) == pytest.approx(0)
    assert 4.5 < np.ptp(w) < np.log(200)


def test_rankings_hold_all_items_in_blocks_of_which_all_but_the_last_are_small():
    drawn = simulate_partitions(40, 300, most=9, seed=3)
    sizes = drawn.rankings.block_sizes
    assert sizes.shape == (300, 4)
    assert (sizes >= 1).all()
    assert (sizes.sum(axis=1) == 40).all()
    above = sizes[:, :3].sum(axis=1)
    assert (above.min(), above.max()) == (3, 9)
    assert (np.sort(drawn.rankings.item, axis=1) == np.arange(40)).all()


def test_all_sets_of_cuts_are_equally_likely():
    sizes = simulate_partitions(4, 3000, n_blocks=3, most=3, seed=3).rankings.block_sizes
    _, times = np.unique(sizes, axis=0, return_counts=True)
    assert len(times) == 3  # 1 1 2, 1 2 1, 2 1 1
    assert (abs(times - 1000) < 4 * np.sqrt(3000 * 2 / 9)).all()


def test_the_better_item_is_first_as_often_as_its_share_says():
    drawn = simulate_partitions(3, 4000, n_blocks=2, seed=3)
    first = np.bincount(drawn.top.item[:, 0], minlength=3) / 4000
    np.testing.assert_allclose(first, np.exp(drawn.utility), atol=0.03)


def test_the_oracle_sees_the_order_inside_all_blocks_but_the_last():
    drawn = simulate_partitions(12, 20, seed=3)
    seen, known = drawn.rankings, drawn.top
    for n in range(20):
        above = seen.block_sizes[n, :3].sum()
        assert known.ranks[n].tolist() == [*range(1, above + 1), *[above + 1] * (12 - above)]
        block = dict(zip(seen.item[n].tolist(), seen.ranks[n].tolist(), strict=True))
        assert [block[i] for i in known.item[n].tolist()] == sorted(seen.ranks[n].tolist())


def test_equal_seeds_give_equal_rankings():
    one, same, other = (simulate_partitions(9, 5, seed=seed) for seed in (1, 1, 2))
    assert one.rankings == same.rankings
    assert one.rankings != other.rankings


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_items": 3}, "`n_items` must be a whole number from 4 on; got 3"),
        ({"n_rankings": 0}, "`n_rankings` must be a whole number from 1 on; got 0"),
        ({"n_blocks": 1}, "`n_blocks` must be a whole number from 2 on; got 1"),
        ({"most": 2.5}, r"`most` must be a whole number from 3 on; got 2\.5"),
    ],
)
def test_numbers_that_are_too_small_are_refused(given, message):
    with pytest.raises(ValueError, match=message):
        simulate_partitions(**{"n_items": 10, "n_rankings": 2, "seed": 1, **given})
