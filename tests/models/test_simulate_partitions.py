"""Simulated weak orders: their utilities, their cuts, and what the oracle sees."""

import numpy as np

from models.partitioned_preference.simulate import simulate_partitions


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
