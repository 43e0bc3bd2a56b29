"""Precisions with blocks against dense ones, and the models in which the blocks are found."""

import numpy as np
import pytest

from bayesrank.analysis.leaderboard import leaderboard_model
from bayesrank.inference.approximation import inner_gaussian, nested
from bayesrank.inference.approximation.block_precision import Arrow, Dense
from bayesrank.inference.approximation.modes import gradient_change, objective
from bayesrank.inference.approximation.nested import _by_blocks, _joint, learned_scales
from bayesrank.likelihoods.pairs import total
from tests.builders import matches

SHAPES, N_REST = ((7, 3), (4, 2)), 4  # numbers of blocks, and their sizes
N = sum(n * size for n, size in SHAPES) + N_REST


@pytest.fixture
def given(rng):
    """An arrow, the same as a matrix, and a basis of what its sums leave."""
    order = rng.permutation(N)
    ends = np.cumsum([n * size for n, size in SHAPES])
    *parts, rest = np.split(order, ends)
    places = [part.reshape(shape) for part, shape in zip(parts, SHAPES, strict=True)]
    rest = np.sort(rest)
    full = np.zeros((N, N))
    for mine in (row for part in places for row in part):
        factor = rng.normal(size=(len(mine), len(mine)))
        full[np.ix_(mine, mine)] = factor @ factor.T + np.eye(len(mine))
        full[np.ix_(mine, rest)] = rng.normal(size=(len(mine), N_REST))
        full[np.ix_(rest, mine)] = full[np.ix_(mine, rest)].T
    full[np.ix_(rest, rest)] = 50 * np.eye(N_REST)
    sums = [np.concatenate([part[:, which] for part in places]) for which in (0, 1)]
    rows = np.zeros((2, N))
    for row, where in zip(rows, sums, strict=True):
        row[where] = len(where) ** -0.5
    basis = np.linalg.svd(rows)[2][2:].T
    blocks = [np.array([full[np.ix_(mine, mine)] for mine in part]) for part in places]
    across = [np.array([full[np.ix_(mine, rest)] for mine in part]) for part in places]
    arrow = Arrow(blocks, across, full[np.ix_(rest, rest)], places, rest, sums)
    return arrow, full, basis


def test_a_block_precision_is_the_dense_precision_of_the_free_directions(given, rng):
    arrow, full, basis = given
    inside = Dense(basis.T @ full @ basis)
    assert arrow.log_det == pytest.approx(inside.log_det)
    for right in (rng.normal(size=N), rng.normal(size=(N, 5))):
        np.testing.assert_allclose(
            arrow.solve(right), basis @ inside.solve(basis.T @ right), atol=1e-10
        )


def test_draws_have_its_covariance(given):
    arrow, full, basis = given
    draws = 40_000
    found = np.cov(arrow.noise(draws, np.random.default_rng(1)))
    expected = basis @ np.linalg.inv(basis.T @ full @ basis) @ basis.T
    spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected)) + expected**2)
    assert (abs(found - expected) < 6 * spread / np.sqrt(draws)).all()
    assert arrow.noise(0, np.random.default_rng(1)).shape == (N, 0)


def test_a_block_that_bends_upwards_is_refused():
    places, none = np.arange(2)[:, None], np.zeros((2, 1, 0))
    with pytest.raises(ValueError, match=r"not an isolated mode.*curvature -1 within a block"):
        Arrow(
            [np.array([[[1.0]], [[-1.0]]])], [none], np.zeros((0, 0)),
            [places], np.zeros(0, dtype=int), [],
        )  # fmt: skip


def judged(rng, n_judges):
    """Matches of four items, 15 by each judge, a fifth of them ties."""
    n = 15 * n_judges
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    outcome = rng.choice(["first", "second", "tie"], n, p=[0.5, 0.3, 0.2])
    return matches(first, second, outcome, judge=np.arange(n) % n_judges)


@pytest.mark.slow
def test_judges_are_the_blocks_of_a_leaderboard_and_change_nothing(rng, monkeypatch):
    monkeypatch.setattr(inner_gaussian, "ENOUGH", 1e-11)
    model = leaderboard_model(judged(rng, 8), opinions=False)
    scales = learned_scales(model)
    free, blocks = _by_blocks(model, scales)
    assert blocks == ["adherence_z", "tie_z", "order_z"]
    known = []
    for this, names in ((model, []), (free, blocks)):
        logp, start = objective(this, random_seed=1)
        joint = _joint(this, logp, start, scales, names)
        hyper = np.log([1.0, 0.4, 0.5, 0.3])
        first = joint.gaussian(hyper)
        second = joint.gaussian(hyper - 0.1, first)
        third = joint.gaussian(hyper, second)
        known.append([given.log_marginal for given in (first, second, third)])
        if not names:
            along = rng.normal(size=(2, start.data.size))
            exact = [gradient_change(lambda x, f=logp: f(x)[1], first.x, v) for v in along]
            np.testing.assert_allclose(joint.products(first.x)(along), exact, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(known[0], known[1], atol=1e-6)


@pytest.fixture(scope="module")
def prompts():
    """Votes of four items on forty prompts, the pairs, the model and its density."""
    rng = np.random.default_rng(5)
    n = 130
    prompt, first = rng.integers(0, 40, n), rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    outcome = rng.choice(["first", "second", "tie"], n, p=[0.5, 0.3, 0.2])
    pairs = matches(first, second, outcome, prompt=prompt)
    model = leaderboard_model(pairs, groups=["prompt"])
    return pairs, model, *objective(model)


@pytest.mark.slow
def test_prompts_are_the_blocks_of_their_deviations_and_change_nothing(prompts, monkeypatch):
    monkeypatch.setattr(inner_gaussian, "ENOUGH", 1e-11)
    pairs, model, logp, start = prompts
    scales, known = learned_scales(model), []
    for small, dense in ((10**6, 10**6), (0, 0)):  # dense, and sparse with blocks
        monkeypatch.setattr(nested, "SMALL", small)
        monkeypatch.setattr(total, "MOST_DENSE", dense)
        monkeypatch.setattr(total, "SPARSER", dense)
        joint = _joint(model, logp, start, scales, [])
        if small == 0:
            n = len(pairs.group_labels("prompt"))
            assert sum(x.size for x in joint.blocks.places) == len(pairs.seen("prompt").labels) + n
            assert sum(len(x) for x in joint.blocks.places) == n
            # the utilities and the order effect; the tie parameter multiplies effects of prompts
            assert joint.outside.size == 3 + 1
        hyper = np.log(np.linspace(0.4, 1.0, len(scales)))
        given = joint.gaussian(hyper)
        moved = joint.averaged(given)
        right = np.random.default_rng(1).normal(size=joint.latent.size)
        known.append([given.precision.log_det, *given.x, *given.precision.solve(right)])
        assert np.isfinite(moved.log_marginal)
    np.testing.assert_allclose(known[0], known[1], atol=1e-5)


def test_a_leaderboard_of_one_judge_has_no_blocks(rng):
    pairs = judged(rng, 1)
    model = leaderboard_model(pairs)
    assert _by_blocks(model, learned_scales(model)) == (model, [])
