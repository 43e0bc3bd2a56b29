"""Simulated best-worst surveys: LOO prefers the likelihood that made the choices.

A survey has 3,600 tasks, such as those of 300 respondents with 12 each. Sequential and Marley are
the nearest two: they differ by about 0.003 nats per task, so that a tenth of the tasks is too few.
Even with 3,600 tasks, two of 20 surveys are wrong. `docs/families/choices.md` has the table.
"""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

import bayesrank as br

N_SURVEYS, N_TASKS, N_SHOWN, N_ITEMS, SPREAD = 20, 3600, 5, 20, 2.0
FAMILIES = {
    "exact": (br.PlackettLuce, {}),
    "sequential": (br.MaxDiff, {}),
    "marley": (br.MaxDiff, {"method": "marley"}),
}
RANKS = np.array([1, *[2] * (N_SHOWN - 2), 3])


def survey(k):
    """Likelihood and tasks of survey number k, without the package's draws."""
    rng, likelihood = np.random.default_rng([46, k]), list(FAMILIES)[k % len(FAMILIES)]
    shown = np.array([rng.permutation(N_ITEMS)[:N_SHOWN] for _ in range(N_TASKS)])
    u = rng.normal(0, SPREAD, N_ITEMS)[shown]
    best = np.argmax(u + rng.gumbel(size=u.shape), axis=1)
    if likelihood == "exact":
        order = np.argsort(-(u + rng.gumbel(size=u.shape)), axis=1)
        best, worst = order[:, 0], order[:, -1]
    elif likelihood == "sequential":
        others = np.where(np.arange(N_SHOWN) == best[:, None], np.inf, u)
        worst = np.argmin(others - rng.gumbel(size=u.shape), axis=1)
    else:
        pairs = u[:, :, None] - u[:, None, :] + rng.gumbel(size=(*u.shape, N_SHOWN))
        pairs[:, np.arange(N_SHOWN), np.arange(N_SHOWN)] = -np.inf
        best, worst = np.divmod(pairs.reshape(N_TASKS, -1).argmax(axis=1), N_SHOWN)
    place = np.ones(u.shape)
    np.put_along_axis(place, best[:, None], 0, axis=1)
    np.put_along_axis(place, worst[:, None], 2, axis=1)
    item = np.take_along_axis(shown, np.argsort(place, axis=1), axis=1)
    ranks = np.tile(RANKS, (N_TASKS, 1))
    return likelihood, br.Rankings(item, ranks, items=list(range(N_ITEMS)))


class Fit:
    """A likelihood, compiled once: draws of the normal at the mode, and their elpd."""

    def __init__(self, family, options, tasks):
        with pm.Model(coords=tasks.coords) as self.model:
            u = pm.Normal("u", 0, SPREAD, dims="item")
            y = family("y", u, observed=tasks, **options)
        self.logp, self.slope = self.model.compile_logp(), self.model.compile_dlogp()
        self.of_tasks = self.model.compile_logp(vars=y, sum=False)

    def log_likelihood(self, tasks, n_draws=200):
        """Log-probabilities of the tasks, (draw, task)."""
        br.set_observed("y", tasks, model=self.model)
        found = minimize(
            lambda u: -self.logp({"u": u}), np.zeros(N_ITEMS),
            jac=lambda u: -self.slope({"u": u}), method="L-BFGS-B",
        )  # fmt: skip
        step = 1e-4 * np.eye(N_ITEMS)
        ends = [[self.slope({"u": found.x + s * e}) for e in step] for s in (-1, 1)]
        precision = (np.array(ends[0]) - ends[1]) / 2e-4
        rng = np.random.default_rng(1)
        draws = rng.multivariate_normal(found.x, np.linalg.inv(precision), n_draws)
        return np.array([self.of_tasks({"u": u})[0] for u in draws])


def loo(log_likelihood):
    """LOO by importance sampling; no weight needs smoothing, because no task decides utilities."""
    n_draws = len(log_likelihood)
    return (np.log(n_draws) - logsumexp(-log_likelihood, axis=0)).sum()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")  # it is noisy with 200 draws
def test_loo_prefers_the_likelihood_that_made_the_choices():
    fits = {name: Fit(*FAMILIES[name], survey(0)[1]) for name in FAMILIES}
    preferred = []
    for k in range(N_SURVEYS):
        truth, tasks = survey(k)
        found = {name: fit.log_likelihood(tasks) for name, fit in fits.items()}
        elpd = {name: loo(x) for name, x in found.items()}
        if k == 0:
            tree = az.from_dict({"log_likelihood": {"y": found[truth][None]}})
            smoothed = az.loo(tree, reff=1.0).elpd
            assert elpd[truth] == pytest.approx(smoothed, abs=0.5)
        best, second, third = sorted(elpd, key=elpd.__getitem__, reverse=True)
        preferred.append((truth, best, *(round(elpd[best] - elpd[x], 1) for x in (second, third))))
        print(preferred[-1])
    assert sum(truth == best for truth, best, *_ in preferred) >= 18, preferred
