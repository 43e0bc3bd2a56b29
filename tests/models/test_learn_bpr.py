"""LearnBPR: its triples, its steps against the gradient of the whole objective, its arguments."""

import functools

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Interactions, UninformativeUserWarning
from models.bpr.learn_bpr import FactorFit, Penalties, learn_bpr, prior_penalties
from models.bpr.learn_bpr_kernels import draw_triple, step_factors
from tests.models.interactions import HAVE, log_sigmoid
from tests.oracles import gradient

SHAPES = [(4, 2), (4, 2), (4,)]  # W, H, b
N_PARAMETERS = 20


def parts(flat):
    """W, H and b of a flat vector."""
    pieces = np.split(np.asarray(flat, dtype=float), [8, 16])
    return [x.reshape(shape).copy() for x, shape in zip(pieces, SHAPES, strict=True)]


def one_triple(flat, triple, penalties):
    """Objective of a triple by the definition."""
    (W, H, b), (u, i, j) = parts(flat), triple
    user, positive, negative, bias = penalties
    lead = b[i] + W[u] @ H[i] - b[j] - W[u] @ H[j]
    squares = user * W[u] @ W[u] + positive * H[i] @ H[i] + negative * H[j] @ H[j]
    return log_sigmoid(lead) - (squares + bias * (b[i] ** 2 + b[j] ** 2)) / 2


def move(flat, triple, penalties, rate=1.0, biased=True):
    """Take one step, and give what it added for a rate of one."""
    fit = parts(flat)
    on = [np.full(4, x) if np.ndim(x) == 0 else np.asarray(x, float) for x in penalties]
    step_factors(*fit, *map(np.uintp, triple), *on, biased, rate)
    return (np.concatenate([x.ravel() for x in fit]) - flat) / rate


def test_a_step_is_that_of_the_formulas():
    # lead = 0.5 - 0 + 2 (1 - 3) = -3.5 for one factor, and g = sigmoid(3.5)
    W, H, b = np.array([[2.0]]), np.array([[1.0], [3.0]]), np.array([0.5, 0.0])
    on = [np.array([0.1]), np.array([0.2, 9]), np.array([9, 0.3]), np.array([0.4, 0.4])]
    step_factors(W, H, b, np.uintp(0), np.uintp(0), np.uintp(1), *on, True, 0.05)
    g = 1 / (1 + np.exp(-3.5))
    np.testing.assert_allclose(W, [[2 + 0.05 * (g * (1 - 3) - 0.1 * 2)]], rtol=1e-14)
    np.testing.assert_allclose(
        H, [[1 + 0.05 * (g * 2 - 0.2)], [3 + 0.05 * (-g * 2 - 0.3 * 3)]], rtol=1e-14
    )
    np.testing.assert_allclose(b, [0.5 + 0.05 * (g - 0.4 * 0.5), -0.05 * g], rtol=1e-14)


def test_a_step_is_the_gradient_of_the_objective_of_its_triple(rng):
    penalties = Penalties(0.3, 0.2, 0.1, 0.4)
    for triple in HAVE.all_triples():
        flat = rng.normal(size=N_PARAMETERS)
        slope = gradient(functools.partial(one_triple, triple=triple, penalties=penalties), flat)
        np.testing.assert_allclose(move(flat, triple, penalties), slope, atol=1e-9)


def test_the_mean_step_over_all_triples_is_the_gradient_of_the_whole_objective(rng):
    penalties, flat = Penalties(0.3, 0.2, 0.1, 0.4), rng.normal(size=N_PARAMETERS)
    triples = HAVE.all_triples()
    assert len(triples) == 2 * 2 + 1 * 3 + 3 * 1
    mean = np.mean([move(flat, t, penalties) for t in triples], axis=0)
    slope = gradient(lambda x: sum(one_triple(x, t, penalties) for t in triples), flat)
    np.testing.assert_allclose(len(triples) * mean, slope, atol=1e-8)


@pytest.mark.parametrize("evidence", [None, 3.5])
def test_with_prior_penalties_the_mean_step_climbs_the_log_posterior(rng, evidence):
    flat, scales = rng.normal(size=N_PARAMETERS), (0.7, 1.3, 0.4)
    triples, weight = HAVE.all_triples(), 6 if evidence is None else evidence
    user, item, bias = scales

    def log_posterior(x):
        W, H, b = parts(x)
        prior = (W[:3] ** 2).sum() / user**2 + (H**2).sum() / item**2 + (b**2).sum() / bias**2
        # Di is in no triple: nothing moves the factors, which start where the prior has its mode
        return weight * np.mean([one_triple(x, t, Penalties(0, 0, 0, 0)) for t in triples]) - (
            prior / 2
        )

    penalties = prior_penalties(
        HAVE, user_scale=user, item_scale=item, bias_scale=bias, evidence=evidence
    )
    mean = np.mean(
        [move(flat, (u, i, j), penalties) for u, i, j in triples],
        axis=0,
    )
    np.testing.assert_allclose(weight * mean, gradient(log_posterior, flat), atol=1e-8)


def test_without_biases_they_stay(rng):
    flat = rng.normal(size=N_PARAMETERS)
    moved = move(flat, (0, 0, 1), Penalties(), biased=False)
    assert (moved[16:] == 0).all()
    np.testing.assert_array_equal(moved[:16], move(flat, (0, 0, 1), Penalties())[:16])
    assert (learn_bpr(HAVE, n_factors=2, item_bias=False).item_bias == 0).all()


def test_the_triples_drawn_are_uniform_over_all():
    n, state = 100_000, np.array([1], dtype=np.uint64)
    where = HAVE.start, HAVE.user_idx, HAVE.item, HAVE.n_items, state
    drawn = np.array([draw_triple(*where) for _ in range(n)])
    listed, times = np.unique(drawn, axis=0, return_counts=True)
    np.testing.assert_array_equal(listed, HAVE.all_triples())
    np.testing.assert_allclose(times / n, 0.1, atol=5 * np.sqrt(0.09 / n))


def test_steps_of_extreme_utilities_are_finite():
    for sign, g in ((1, 0.0), (-1, 1.0)):
        fit = [np.zeros((4, 2)), np.zeros((4, 2)), sign * np.array([1000.0, -1000, 0, 0])]
        for kind in (np.float32, np.float64):
            W, H, b = (x.astype(kind) for x in fit)
            before = b[0]
            where = map(np.uintp, (0, 0, 1))
            step_factors(W, H, b, *where, *[np.zeros(4, kind)] * 4, True, 0.5)
            assert b[0] - before == 0.5 * g


# Fits


def test_what_all_like_has_the_highest_bias_and_tastes_are_found():
    # two tastes: even users have three of the even pages, odd users of the odd ones; all have 8
    user, page = np.indices((40, 8))
    taken = ((user + page) % 2 == 0) & (page // 2 != user // 2 % 4)
    user, page = np.nonzero(np.hstack([taken, np.ones((40, 1), dtype=bool)]))
    have = Interactions.from_frame(
        pd.DataFrame({"user": user, "page": page}), user="user", item="page"
    )
    fit = learn_bpr(have, n_factors=2, n_epochs=200, last_rate=0.0, seed=4)
    assert fit.item_bias.argmax() == 8
    utility = fit.utility()
    for u in range(40):
        of_taste = np.arange(8) % 2 == u % 2
        assert utility[u, :8][of_taste].min() > utility[u, :8][~of_taste].max()
    np.testing.assert_allclose(fit.utility(3), utility[3], rtol=1e-5)


def test_of_biases_alone_it_finds_the_mode():
    triples, scale = HAVE.all_triples(), 0.8
    penalties = prior_penalties(HAVE, user_scale=1, item_scale=1, bias_scale=scale)
    b = learn_bpr(
        HAVE, n_factors=0, n_epochs=300_000, learning_rate=0.002, last_rate=0.0,
        penalties=penalties, dtype="float64",
    ).item_bias  # fmt: skip

    def log_posterior(b):
        lead = b[triples[:, 1]] - b[triples[:, 2]]
        return 6 * np.mean(log_sigmoid(lead)) - b @ b / 2 / scale**2

    np.testing.assert_allclose(gradient(log_posterior, b), 0, atol=0.01)
    assert np.ptp(b) > 0.3


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_same_seed_gives_the_same_fit(dtype):
    one, again, other = (learn_bpr(HAVE, n_factors=3, dtype=dtype, seed=s) for s in (1, 1, 2))
    for x, y, z in zip(one, again, other, strict=True):
        assert x.dtype == dtype
        np.testing.assert_array_equal(x, y)
        assert (x != z).any()


def test_a_fit_goes_on_from_where_it_starts_and_leaves_that_alone():
    start = learn_bpr(HAVE, n_factors=2)
    kept = [x.copy() for x in start]
    for x, y in zip(learn_bpr(HAVE, n_factors=2, n_epochs=0, start=start), start, strict=True):
        np.testing.assert_array_equal(x, y)
    learn_bpr(HAVE, n_factors=2, n_epochs=1, start=start)
    for x, y in zip(kept, start, strict=True):
        np.testing.assert_array_equal(x, y)


def test_users_without_triples_have_no_factors():
    fit = learn_bpr(HAVE, n_factors=2)
    assert (fit.user_factor[3] == 0).all()
    assert (fit.user_factor[:3] != 0).all()


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_factors": -1}, "`n_factors` is -1; it must be a whole number, 0 or more"),
        ({"n_epochs": -1}, "`n_epochs` is -1; it must be 0 or more"),
        ({"learning_rate": 0}, "`learning_rate` is 0; it must be positive"),
        ({"last_rate": -0.1}, "`last_rate` is -0.1; it must be 0 or more"),
        ({"dtype": "int32"}, "`dtype` is 'int32'; it is 'float32' or 'float64'"),
        ({"penalties": Penalties(user=-1)}, "The penalty `user` must be finite and 0 or more"),
        ({"penalties": Penalties(bias=[1, 2])}, r"`bias` has shape \(2,\); .* each of 4 items"),
        (
            {"penalties": Penalties(bias=pd.Series([1, 2], ["a", "z"]))},
            r"`bias` must have one value for each item, .* the labels 'z', which no item has",
        ),
        ({"penalties": Penalties(positive=30.0), "n_epochs": 500}, "ran away .*: lower it"),
        (
            {"start": FactorFit(*(np.zeros(shape) for shape in SHAPES)), "n_factors": 3},
            r"`start` has factors of shapes \(4, 2\) and .*n_factors=3 they are \(4, 3\)",
        ),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        learn_bpr(HAVE, **({"learning_rate": 0.1} | options))


def test_where_all_have_all_or_nothing_there_is_nothing_to_learn():
    table = pd.DataFrame({"user": [1], "page": ["a"]})
    with pytest.warns(UninformativeUserWarning):
        have = Interactions.from_frame(table, user="user", item="page")
    with pytest.raises(ValueError, match="There is nothing to learn: every user has all items"):
        learn_bpr(have)
    with pytest.raises(ValueError, match="There is nothing to learn"):
        prior_penalties(have, user_scale=1, item_scale=1, bias_scale=1)
