"""Losses of whole rankings: by hand, against listed pairs, gradients, extremes, ties and masks."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from scipy.stats import entropy

from bayesrank.likelihoods.plackett_luce import weak_order_logp
from models.shared.losses import (
    attention_rank_loss,
    expected_rank_loss,
    exponential_rank_loss,
    hinge_rank_loss,
    list_net_loss,
    list_rank_loss,
    rank_net_loss,
    squared_rank_loss,
)
from models.shared.pairs_of_rankings import weak_order_pairs
from tests.likelihoods.loops import for_each
from tests.oracles import gradient, ordering_logp

OF_PAIRS = {
    "hinge": hinge_rank_loss,
    "RankNet": rank_net_loss,
    "RankBoost": exponential_rank_loss,
    "squares": squared_rank_loss,
}


def graded(loss):
    """Grades that are ranks, up to those of empty slots."""
    return lambda w, r: loss(w, r, labels=pt.switch(pt.gt(r, 0), -0.3 * pt.as_tensor(r), np.nan))


LOSSES = {
    **OF_PAIRS,
    "ListNet": list_net_loss,
    "ListNet, first two": lambda w, r: list_net_loss(w, r, k=2),
    "expected rank": expected_rank_loss,
    "attention": attention_rank_loss,
    "attention, graded": graded(attention_rank_loss),
    "ListRank": graded(list_rank_loss),
}
RANKS = np.array([[2, 1, 3, 0], [1, 2, 2, 3], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]])


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


@pytest.fixture
def with_slope(loss):
    """Losses and the gradient of their sum, at utilities and ranks of any shape."""

    def evaluate(utility, ranks):
        w = pt.as_tensor(np.asarray(utility, dtype=float)).type("w")
        losses = loss(w, np.asarray(ranks))
        f = pytensor.function([w], [losses, pt.grad(pt.sum(losses), w)], mode="FAST_COMPILE")
        return [np.asarray(part) for part in f(np.asarray(utility, dtype=float))]

    return evaluate


# For all


def test_the_gradient_agrees_with_finite_differences(rng, loss, with_slope):
    u, w = rng.normal(size=RANKS.shape), pt.dmatrix("w")
    f = pytensor.function([w], pt.sum(loss(w, RANKS)), mode="FAST_COMPILE")
    numeric = gradient(lambda x: float(f(x)), u)
    np.testing.assert_allclose(with_slope(u, RANKS)[1], numeric, rtol=1e-6, atol=1e-8)


def test_they_are_the_same_under_jax(rng):
    w, u = pt.dmatrix("w"), rng.normal(size=RANKS.shape)
    losses = [LOSSES[name](w, RANKS) for name in ("RankNet", "attention, graded")]
    outputs = [*losses, *(pt.grad(pt.sum(x), w) for x in losses)]
    python, jax = (pytensor.function([w], outputs, mode=mode)(u) for mode in (None, "JAX"))
    for a, b in zip(python, jax, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)


def test_empty_slots_and_padding_say_nothing(rng, with_slope):
    u = rng.normal(size=RANKS.shape)
    losses, slope = with_slope(u, RANKS)
    again, same = with_slope(np.where(RANKS > 0, u, np.nan), RANKS)
    np.testing.assert_array_equal(again, losses)
    np.testing.assert_array_equal(same, slope)
    assert (slope[RANKS == 0] == 0).all()
    assert losses[3] == 0  # nothing is ranked
    wider, _ = with_slope(np.pad(u, ((0, 0), (2, 1))), np.pad(RANKS, ((0, 0), (2, 1))))
    np.testing.assert_allclose(wider, losses, rtol=1e-13)
    alone, _ = with_slope(u[0, :3], RANKS[0, :3])
    assert alone == pytest.approx(losses[0], rel=1e-13, abs=1e-15)


# Each by hand


def function_of_pairs(loss, listed=False):
    """Losses and the gradient of their sum, of ranks or of the pairs that they list."""

    def evaluate(utility, ranks):
        w = pt.dmatrix("w")
        pairs = weak_order_pairs(np.asarray(ranks)) if listed else None
        losses = loss(w, ranks, pairs=pairs)
        f = pytensor.function([w], [losses, pt.grad(losses.sum(), w)])
        return f(np.asarray(utility, dtype=float))

    return evaluate


@for_each("loss", OF_PAIRS.values())
def test_losses_of_listed_pairs_are_those_of_the_ranks(rng, loss):
    u = rng.normal(size=RANKS.shape)
    for listed, squares in zip(
        *(function_of_pairs(loss, listed)(u, RANKS) for listed in (True, False)), strict=True
    ):
        np.testing.assert_allclose(listed, squares, rtol=1e-13, atol=1e-15)
    # under JAX, too, and where ties are left out or none are there
    for ties in ("drop", "keep"):
        untied = np.array([[3, 1, 2, 0], [1, 2, 3, 4]])
        pairs = weak_order_pairs(untied, ties=ties)
        w = pt.dmatrix("w")
        f = pytensor.function([w], loss(w, untied, pairs=pairs), mode="JAX")
        exact = loss(u[:2], untied).eval()
        np.testing.assert_allclose(np.asarray(f(u[:2])), exact, rtol=1e-13)


@for_each("listed", [False, True])
def test_leads_of_two_items_by_hand(listed):
    # one above the other, below it, and tied with it
    leads, ranks = [2.0, 0.25, 0.25, -3.0, 0.5], [[1, 2], [1, 2], [2, 1], [2, 1], [1, 1]]
    utility = [[lead, 0.0] for lead in leads]
    for loss, exact in (
        (hinge_rank_loss, [0, 0.75, 1.25, 0, 0]),
        (squared_rank_loss, [1, 0.5625, 1.5625, 4, 0.25]),
        (exponential_rank_loss, np.exp([-2, -0.25, 0.25, -3, -np.inf])),
        (rank_net_loss, [*np.log1p(np.exp([-2, -0.25, 0.25, -3])), 0.0]),
    ):
        value, slope = function_of_pairs(loss, listed)(utility, ranks)
        np.testing.assert_allclose(value, exact, rtol=1e-14, err_msg=loss.__name__)
        np.testing.assert_allclose(slope[:, 1], -slope[:, 0], err_msg=loss.__name__)
    assert hinge_rank_loss([-1000.0, 0.0], [1, 2]).eval() == 1001.0


def test_listnet_is_the_choice_of_the_first_and_with_all_ranks_plackett_luce(rng):
    u, ranks = rng.normal(size=5), np.array([3, 1, 5, 2, 4])
    first = list_net_loss(u, ranks).eval()
    assert first == pytest.approx(np.log(np.exp(u).sum()) - u[1])
    ordering = (1, 3, 0, 4, 2)
    for k in (4, 5, 9):
        full = list_net_loss(u, ranks, k=k).eval()
        assert full == pytest.approx(-ordering_logp(u, ordering), rel=1e-13)
    two = list_net_loss(u, ranks, k=2).eval()
    exact = weak_order_logp(u, np.minimum(ranks, 3)).eval(mode="FAST_COMPILE")
    assert two == pytest.approx(-exact, rel=1e-6)


def test_expected_rank_by_hand():
    # places 1, 2.5, 2.5, 4 of four: targets 1/2 - place / 5
    targets = np.array([0.3, 0.0, 0.0, -0.3])
    ranks = [1, 2, 2, 3]
    assert expected_rank_loss(targets, ranks).eval() == pytest.approx(0, abs=1e-30)
    off = targets + np.array([1, -2, 0, 0.5])
    assert expected_rank_loss(off, ranks).eval() == pytest.approx(5.25)


def test_attention_by_hand():
    # Blocks below: 1, 0, 0
    p, q = np.array([np.e, 1, 1]) / (np.e + 2), np.array([1.0, 2.0, 5.0]) / 8
    value = attention_rank_loss(np.log([1.0, 2.0, 5.0]), [1, 2, 2]).eval()
    assert value == pytest.approx(-p @ np.log(q))
    labels = np.log([5.0, 2.0, 1.0])
    value = attention_rank_loss(np.log([1.0, 2.0, 5.0]), [1, 2, 2], labels=labels).eval()
    assert value == pytest.approx(-np.array([5, 2, 1]) / 8 @ np.log(q))


# ListRank


def test_list_rank_by_hand():
    # p = (e, 1) / (e + 1), and so is q in the limit: the entropy of p
    p = np.array([np.e, 1]) / (np.e + 1)
    value = list_rank_loss([99.0, -99.0], [1, 2], labels=[1.0, 0.0]).eval()
    assert value == pytest.approx(entropy(p))
    # the other way round: -p log q with q = (1, e) / (e + 1)
    expected = -(p[0] * np.log(1 / (np.e + 1)) + p[1] * np.log(np.e / (np.e + 1)))
    value = list_rank_loss([-99.0, 99.0], [1, 2], labels=[1.0, 0.0]).eval()
    assert value == pytest.approx(expected)
