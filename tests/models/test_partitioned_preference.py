"""Objectives of weak orders as models: what they count, where their maxima are, what is refused."""

import numpy as np
import pytest
from scipy.special import softmax

import bayesrank as br
from models.partitioned_preference import model as partitioned_preference
from models.partitioned_preference.model import OBJECTIVES, build, fit, pairs_above
from models.partitioned_preference.simulate import simulate_partitions
from models.shared.losses import hinge_rank_loss, rank_net_loss

# 2 above {0, 1} above 3, and so on; of different lengths and weights
RAGGED = br.Rankings.from_orderings(
    [[2, {0, 1}, 3], [1, 0], [{3, 1}, 2], [{0, 2}, {1, 3}]], weight=[1.0, 3.0, 2.0, 1.0], rest=()
)


def logp(objective, rankings, utility):
    model = build(rankings, objective=objective, prior_scale=None)
    return float(model.compile_logp(mode="FAST_COMPILE")({"utility": utility}))


def test_pairs_of_different_blocks_are_counted_with_their_weights():
    better, counts = pairs_above(RAGGED)
    assert better.tolist() == [0, 1, 2, 3]
    assert counts.tolist() == [
        [0, 1, 0, 1 + 1],
        [3, 0, 2, 1],
        [1, 1 + 1, 0, 1 + 1],
        [0, 0, 2, 0],
    ]


@pytest.mark.parametrize(
    ("objective", "loss"), [("RankNet", rank_net_loss), ("RankSVM", hinge_rank_loss)]
)
def test_losses_of_counted_pairs_are_those_of_the_rankings(rng, objective, loss):
    u = rng.normal(size=4)
    each = loss(u[RAGGED.item], RAGGED.ranks).eval()
    assert logp(objective, RAGGED, u) == pytest.approx(-RAGGED.weight @ each)


def test_the_bound_is_below_the_log_likelihood(rng):
    u = rng.normal(size=4)
    assert logp("PL-LB", RAGGED, u) < logp("exact", RAGGED, u)


def test_the_exact_likelihood_finds_the_shares_that_the_oracle_finds():
    drawn = simulate_partitions(5, 3000, n_blocks=3, seed=4)
    truth = np.exp(drawn.utility)
    for rankings in (drawn.rankings, drawn.top):
        np.testing.assert_allclose(np.exp(fit(rankings)), truth, atol=0.015)


def test_attention_has_its_maximum_at_the_mean_of_the_shares_that_labels_ask_for():
    r = br.Rankings.from_orderings([["a", {"b", "c"}], [{"a", "b"}, "c"]])
    shares = softmax([[1, 0, 0], [1, 1, 0]], axis=1).mean(axis=0)
    np.testing.assert_allclose(np.exp(fit(r, objective="AttRank")), shares, atol=1e-6)


def test_a_prior_keeps_what_never_loses_finite():
    r = br.Rankings.from_orderings([["a", "b", "c"]])
    free, held = fit(r), fit(r, prior_scale=2.0)
    assert np.ptp(free) > 10
    assert 0 < np.ptp(held) < 5


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_a_ranking_that_occurs_twice_counts_twice(objective):
    once = br.Rankings.from_orderings([[{2, 4}, {0, 5}, {1, 3}]])
    twice = br.Rankings.from_orderings([[{2, 4}, {0, 5}, {1, 3}]] * 2)
    u = np.linspace(0, 1, 6)
    assert logp(objective, twice, u) == pytest.approx(2 * logp(objective, once, u))


def test_shares_sum_to_one():
    assert np.exp(fit(RAGGED, objective="RankSVM", prior_scale=1.0)).sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"objective": "best"}, "`objective` must be one of exact, PL-LB, .*; got 'best'"),
        ({"prior_scale": 0.0}, r"`prior_scale` must be positive, or None for none; got 0\.0"),
    ],
)
def test_what_makes_no_model_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        build(RAGGED, **given)


def test_run_as_a_program_it_prints_the_error_of_each_objective(monkeypatch, capsys):
    small = simulate_partitions(8, 20, seed=1)
    monkeypatch.setattr(partitioned_preference, "simulate_partitions", lambda *a, **k: small)
    monkeypatch.setattr(partitioned_preference, "OBJECTIVES", ("exact", "RankNet"))
    partitioned_preference.main()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["PL-TopK", "exact", "RankNet"]
