"""Losses of whole rankings: by hand, against listed pairs, gradients, extremes, ties and masks."""

from itertools import combinations

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest

from bayesrank.likelihoods.losses import (
    expected_rank_loss,
    hinge_loss,
    hinge_rank_loss,
    list_net_loss,
    rank_net_loss,
)
from bayesrank.likelihoods.pairs.graph import bradley_terry_logp
from bayesrank.likelihoods.pairs.of_rankings import pairs_logp, weak_order_pairs
from bayesrank.likelihoods.plackett_luce.graph import plackett_luce_logp
from tests.oracles import gradient, ordering_logp

LOSSES = {
    "hinge": hinge_rank_loss,
    "RankNet": rank_net_loss,
    "ListNet": list_net_loss,
    "ListNet, first two": lambda w, r: list_net_loss(w, r, k=2),
    "expected rank": expected_rank_loss,
}
RANKS = np.array([[2, 1, 3, 0], [1, 2, 2, 3], [1, 0, 0, 0], [0, 0, 0, 0], [1, 1, 1, 0]])


@pytest.fixture(params=LOSSES)
def loss(request):
    return LOSSES[request.param]


@pytest.fixture
def with_slope(loss):
    """Losses and the gradient of their sum, at utilities and ranks of any shape."""

    def evaluate(utility, ranks, mode="FAST_COMPILE"):
        w = pt.as_tensor(np.asarray(utility, dtype=float)).type("w")
        losses = loss(w, np.asarray(ranks))
        f = pytensor.function([w], [losses, pt.grad(pt.sum(losses), w)], mode=mode)
        return [np.asarray(part) for part in f(np.asarray(utility, dtype=float))]

    return evaluate


# For all


def test_the_gradient_agrees_with_finite_differences_under_numba_and_jax(rng, loss, with_slope):
    u, w = rng.normal(size=RANKS.shape), pt.dmatrix("w")
    f = pytensor.function([w], pt.sum(loss(w, RANKS)), mode="FAST_COMPILE")
    numeric = gradient(lambda x: float(f(x)), u)
    for mode in ("NUMBA", "JAX"):
        np.testing.assert_allclose(with_slope(u, RANKS, mode)[1], numeric, rtol=1e-6, atol=1e-8)


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
    for n, used in enumerate(RANKS > 0):
        if used.any():
            alone, _ = with_slope(u[n, used], RANKS[n, used])
            assert alone == pytest.approx(losses[n], rel=1e-13, abs=1e-15)


def test_the_order_of_slots_and_leading_axes_make_no_difference(rng, with_slope):
    u, ranks = rng.normal(size=(6, 4)), np.argsort(rng.uniform(size=(6, 4)), axis=1) + 1
    losses, _ = with_slope(u, ranks)
    order = rng.permutation(4)
    np.testing.assert_allclose(with_slope(u[:, order], ranks[:, order])[0], losses, rtol=1e-13)
    stacked, _ = with_slope(u.reshape(2, 3, 4), ranks.reshape(2, 3, 4))
    np.testing.assert_allclose(stacked, losses.reshape(2, 3), rtol=1e-13)


def test_utilities_of_a_thousand_have_a_finite_loss_and_gradient(with_slope):
    u = [[1e3, -1e3, 0.0, 1e3], [-1e3, 1e3, 1e3, -1e3], [1e3] * 4, [1e3] * 4, [1e3, 0.0, -1e3, 0.0]]
    losses, slope = with_slope(u, RANKS)
    assert np.isfinite(losses).all()
    assert np.isfinite(slope).all()


def test_ranks_may_be_a_tensor(rng, loss):
    u, ranks = rng.normal(size=RANKS.shape), pt.lmatrix("ranks")
    symbolic = loss(u, ranks).eval({ranks: RANKS}, mode="FAST_COMPILE")
    np.testing.assert_array_equal(symbolic, loss(u, RANKS).eval(mode="FAST_COMPILE"))


# Each by hand


@pytest.mark.parametrize(
    ("of_list", "of_pair", "sign"),
    [(hinge_rank_loss, hinge_loss, 1), (rank_net_loss, bradley_terry_logp, -1)],
)
def test_losses_of_pairs_are_those_of_the_listed_pairs(rng, of_list, of_pair, sign):
    u = rng.normal(size=RANKS.shape)
    listed = pairs_logp(u, weak_order_pairs(RANKS, ties="drop"), of_pair).eval()
    np.testing.assert_allclose(of_list(u, RANKS).eval(), sign * listed, rtol=1e-13)


def test_hinge_and_ranknet_by_hand(rng):
    u = rng.normal(size=4)
    lead = [u[i] - u[j] for i, j in combinations(range(4), 2)]
    hinge, net = (f(u, [1, 2, 3, 4]).eval() for f in (hinge_rank_loss, rank_net_loss))
    assert hinge == pytest.approx(sum(max(0, 1 - d) for d in lead))
    assert net == pytest.approx(sum(np.log1p(np.exp(-d)) for d in lead))


def test_ties_are_no_pairs():
    for of_list in (hinge_rank_loss, rank_net_loss):
        assert of_list([3.0, 1.0, -2.0], [1, 1, 1]).eval() == 0


def test_listnet_is_the_choice_of_the_first_and_with_all_ranks_plackett_luce(rng):
    u, ranks = rng.normal(size=5), np.array([3, 1, 5, 2, 4])
    first = list_net_loss(u, ranks).eval()
    assert first == pytest.approx(np.log(np.exp(u).sum()) - u[1])
    ordering = (1, 3, 0, 4, 2)
    for k in (4, 5, 9):
        full = list_net_loss(u, ranks, k=k).eval()
        assert full == pytest.approx(-ordering_logp(u, ordering), rel=1e-13)
    two = list_net_loss(u, ranks, k=2).eval()
    exact = plackett_luce_logp(u, np.minimum(ranks, 3)).eval(mode="FAST_COMPILE")
    assert two == pytest.approx(-exact, rel=1e-6)


def test_listnet_with_ties_is_a_bound_on_plackett_luce(rng):
    u, ranks = rng.normal(size=4), [1, 1, 2, 2]
    bound = list_net_loss(u, ranks).eval()
    assert bound > -plackett_luce_logp(u, ranks).eval(mode="FAST_COMPILE")
    # each of the two is chosen among all four
    assert bound == pytest.approx(2 * np.log(np.exp(u).sum()) - u[0] - u[1])


def test_expected_rank_by_hand():
    # places 1, 2.5, 2.5, 4 of four: targets 1/2 - place / 5
    targets = np.array([0.3, 0.0, 0.0, -0.3])
    ranks = [1, 2, 2, 3]
    assert expected_rank_loss(targets, ranks).eval() == pytest.approx(0, abs=1e-30)
    off = targets + np.array([1, -2, 0, 0.5])
    assert expected_rank_loss(off, ranks).eval() == pytest.approx(5.25)


def test_a_number_of_ranks_below_one_raises():
    with pytest.raises(ValueError, match=r"^`k` must be a positive number of ranks; got 0\.$"):
        list_net_loss([0.0, 1.0], [1, 2], k=0)
