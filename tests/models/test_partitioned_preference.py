"""Partitioned preferences: simulated rankings, the lower bound, objectives, the study."""

from math import log

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.special import softmax

import bayesrank as br
from models.partitioned_preference import model as partitioned_preference
from models.partitioned_preference import study
from models.partitioned_preference.model import build, fit
from models.partitioned_preference.simulate import simulate_partitions
from models.shared.losses import hinge_rank_loss, list_net_loss, rank_net_loss
from models.shared.weak_order_bound import weak_order_bound
from tests.oracles import gradient, weak_order_logp, weak_orders


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


WEAK_ORDERS = np.array([[2, 1, 3, 0], [1, 2, 2, 3], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]])


def bound(utility, ranks):
    """Without compiling anything, which takes longer than all else."""
    return weak_order_bound(np.asarray(utility), ranks).eval(mode="FAST_COMPILE")


def test_by_hand():
    # {0, 1} of worth 1 and 2 above {2} of 3 above {3, 4} of 1 each
    u = np.log([[1.0, 2.0, 3.0, 1.0, 1.0]])
    assert bound(u, [[1, 1, 2, 3, 3]])[0] == pytest.approx(log(2 * (1 / 8) * (2 / 8) * (3 / 5)))


@pytest.mark.parametrize("n", [3, 4])
def test_it_is_below_every_probability_and_the_same_where_nothing_is_tied_above(rng, n):
    ranks = weak_orders(n)
    u = rng.normal(scale=2.0, size=ranks.shape)
    found = bound(u, ranks)
    exact = np.array([weak_order_logp(*pair) for pair in zip(u, ranks, strict=True)])
    tied = np.array([(np.bincount(r)[1:-1] > 1).any() for r in ranks])
    np.testing.assert_allclose(found[~tied], exact[~tied], rtol=1e-12, atol=1e-14)
    assert (found[tied] < exact[tied]).all()
    assert 0 < tied.sum() < len(tied)


def test_without_ties_it_is_minus_the_loss_of_listnet(rng):
    u, ranks = rng.normal(size=(1, 5)), [[3, 1, 5, 2, 4]]
    loss = list_net_loss(u, ranks, k=5).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(bound(u, ranks), -loss)


def test_empty_slots_say_nothing_and_the_gradient_is_that_of_differences(rng):
    u, w = rng.normal(size=WEAK_ORDERS.shape), pt.dmatrix("w")
    total = pt.sum(weak_order_bound(w, WEAK_ORDERS))
    value, slope = (
        pytensor.function([w], x, mode="FAST_COMPILE") for x in (total, pt.grad(total, w))
    )
    np.testing.assert_allclose(slope(u), gradient(value, u), rtol=1e-6, atol=1e-8)
    empty = np.where(WEAK_ORDERS > 0, u, np.nan)
    np.testing.assert_array_equal(bound(empty, WEAK_ORDERS), bound(u, WEAK_ORDERS))
    np.testing.assert_array_equal(slope(empty), slope(u))
    assert bound(u, WEAK_ORDERS)[3] == 0


# 2 above {0, 1} above 3, and so on; of different lengths and weights
RAGGED = br.Rankings.from_orderings(
    [[2, {0, 1}, 3], [1, 0], [{3, 1}, 2], [{0, 2}, {1, 3}]], weight=[1.0, 3.0, 2.0, 1.0], rest=()
)


def logp(objective, rankings, utility):
    model = build(rankings, objective=objective, prior_scale=None)
    return float(model.compile_logp(mode="FAST_COMPILE")({"utility": utility}))


@pytest.mark.parametrize(
    ("objective", "loss"), [("RankNet", rank_net_loss), ("RankSVM", hinge_rank_loss)]
)
def test_losses_of_counted_pairs_are_those_of_the_rankings(rng, objective, loss):
    u = rng.normal(size=4)
    losses = loss(u[RAGGED.item], RAGGED.ranks).eval()
    assert logp(objective, RAGGED, u) == pytest.approx(-RAGGED.weight @ losses)


def test_the_exact_likelihood_finds_the_shares_that_the_oracle_finds():
    drawn = simulate_partitions(5, 3000, n_blocks=3, seed=4)
    truth = np.exp(drawn.utility)
    for rankings in (drawn.rankings, drawn.top):
        np.testing.assert_allclose(np.exp(fit(rankings)), truth, atol=0.015)


def test_attention_has_its_maximum_at_the_mean_of_the_shares_that_labels_ask_for():
    r = br.Rankings.from_orderings([["a", {"b", "c"}], [{"a", "b"}, "c"]])
    shares = softmax([[1, 0, 0], [1, 1, 0]], axis=1).mean(axis=0)
    np.testing.assert_allclose(np.exp(fit(r, objective="AttRank")), shares, atol=1e-6)


def test_run_as_a_program_it_prints_the_error_of_each_objective(monkeypatch, capsys):
    small = simulate_partitions(8, 20, seed=1)
    monkeypatch.setattr(partitioned_preference, "simulate_partitions", lambda *a, **k: small)
    monkeypatch.setattr(partitioned_preference, "OBJECTIVES", ("exact", "RankNet"))
    partitioned_preference.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["PL-TopK", "exact", "RankNet"]


@pytest.fixture
def two_item_rows():
    """True shares of 0.2 and 0.8, each at a known place among the draws, of 1 and 9 rankings."""
    truth = {"truth": [0.2, 0.8], "low": [0.1, 0.7], "high": [0.3, 0.9], "rhat": [1.0, 1.01]}
    places = {"place of share": [0.3, 0.04], "place of utility": [0.5, 0.26]}
    found = {"mean": [0.3, 0.7], "mode": [0.2, 0.6]}
    one = pd.DataFrame({"seed": [1, 1], "seconds": [2.0, 2.0]} | truth | places | found)
    return pd.concat([one.assign(n_rankings=n) for n in (1, 9)], ignore_index=True)


@pytest.mark.slow
def test_the_study_in_a_reduced_size(tmp_path, monkeypatch, two_item_rows):
    rows = two_item_rows.to_dict("records")
    monkeypatch.setattr(study, "_listed", lambda *given: rows)
    monkeypatch.setattr(study, "OBJECTIVES", ("exact", "AttRank", "RankNet"))
    monkeypatch.setattr(study, "QUICK_ITEMS", (9,))
    monkeypatch.setattr(study, "QUICK_RANKINGS", (10, 12))
    tables = study.main(["--quick", "--keep", str(tmp_path)])
    assert list(tables) == list(study.TABLES)
    assert {file for table in tables.values() for file in table.figures} == {
        "partitions.png", "partitions_by_items.png", "partition_posteriors.png",
        "partition_cost.png",
    }  # fmt: skip
    assert (tables["cost"].rows > 0).all(axis=None)
    assert tables["posteriors"].rows.loc[9, "utility in 50%"] == "100%"


def test_calibration_counts_the_intervals_that_hold_the_truth(two_item_rows):
    table = study.calibration(two_item_rows).set_index("n_rankings")
    assert table.index.tolist() == [1, 9]
    assert table.loc[9].to_dict() == pytest.approx(
        {
            "error of mean": 0.01,
            "error of mode": 0.02,
            "share in 50%": 0.5,  # 0.3 is between 0.25 and 0.75, 0.04 is outside of 0.05 to 0.95
            "share in 90%": 0.5,
            "utility in 50%": 1.0,
            "utility in 90%": 1.0,
            "worst rhat": 1.01,
            "seconds": 2.0,
        }
    )
