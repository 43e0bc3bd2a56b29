"""Objectives of weak orders as models: what they count, where their maxima are, what is refused."""

import numpy as np
import pytest
from scipy.special import softmax

import bayesrank as br
from models.partitioned_preference import model as partitioned_preference
from models.partitioned_preference.model import build, fit
from models.partitioned_preference.simulate import simulate_partitions
from models.shared.losses import hinge_rank_loss, rank_net_loss

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
    each = loss(u[RAGGED.item], RAGGED.ranks).eval()
    assert logp(objective, RAGGED, u) == pytest.approx(-RAGGED.weight @ each)


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
