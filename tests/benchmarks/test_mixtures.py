"""Mixtures: modes by EM, against a plain EM in NumPy from the same starts."""

import numpy as np
import pymc as pm
import pytest

import bayesrank as br
from bayesrank.inference.mixtures import em as components
from tests.benchmarks.book import Book
from tests.inference.plain_em import plain_em

N_COMPONENTS, N_STARTS = 5, 4


@pytest.fixture(scope="module")
def model(sushi: br.Rankings) -> pm.Model:
    """Five components without priors, as the peer has them."""
    with pm.Model(coords={**sushi.coords, "component": range(N_COMPONENTS)}) as model:
        weights = pm.Dirichlet("weights", np.ones(N_COMPONENTS), dims="component")
        utility = pm.Flat("utility", dims=("component", "item"))
        br.Mixture("y", weights, br.PlackettLuce.dist(utility), observed=sushi)
    return model


def test_em_is_ten_times_as_fast_as_in_numpy(book: Book, sushi: br.Rankings, model: pm.Model):
    em = components._compile(model, "y", None)
    scores = components._mixture(model, "y").scores
    starts = [
        components._memberships(scores, N_COMPONENTS, np.random.default_rng(s))
        for s in range(N_STARTS)
    ]
    found = [em.e_step(em.climb(members, scores))[2] for members in starts]
    exact = [plain_em(sushi.item, members).log_likelihood for members in starts]
    # the plain one ends a little below each mode
    np.testing.assert_allclose(found, exact, atol=0.5)
    assert (np.array(found) > np.array(exact)).all()

    times = book.race(
        lambda: [em.climb(members, scores) for members in starts],
        1,
        numpy=lambda: [plain_em(sushi.item, members) for members in starts],
    )
    book.ratio(
        "EM to the mode of five components, sushi: 5,000 rankings of 10",
        times["ours"].per(N_STARTS),
        times["numpy"].per(N_STARTS),
        "NumPy, one step of MM in each of EM",
        at_least=10,
    )


def test_the_best_of_ten_starts_compilation_included(
    book: Book, sushi: br.Rankings, model: pm.Model
):
    def ours() -> br.inference.MixtureFit:
        return br.fit_mixture(n_starts=10, random_seed=1, model=model)

    def in_numpy() -> float:
        rng, scores = np.random.default_rng(1), components._mixture(model, "y").scores
        starts = [components._memberships(scores, N_COMPONENTS, rng) for _ in range(10)]
        return max(plain_em(sushi.item, members).log_likelihood for members in starts)

    best = ours().log_likelihood
    assert best == pytest.approx(in_numpy(), abs=0.5)
    what = f"best of ten starts, sushi, five components (log-likelihood {best:,.0f})"
    book.beat(what, ours, "NumPy, one step of MM in each of EM", in_numpy, rounds=1)
