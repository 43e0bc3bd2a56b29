"""Simulated best-worst surveys: LOO prefers the likelihood that made the choices.

A survey has 3,600 tasks, such as those of 300 respondents with 12 each. Sequential and Marley are
the nearest two: they differ by 0.003 nats per task, so that a tenth of the tasks is too few.
"""

import warnings

import arviz as az
import numpy as np
import pymc as pm
import pytest
from scipy.optimize import minimize

import bayesrank as br

N_SURVEYS, N_TASKS, N_SHOWN, N_ITEMS, SPREAD = 20, 3600, 5, 20, 2.0
FAMILIES = {
    "exact": (br.PlackettLuce, {}),
    "sequential": (br.MaxDiff, {}),
    "marley": (br.MaxDiff, {"method": "marley"}),
}
RANKS = np.array([1, *[2] * (N_SHOWN - 2), 3])


def survey(likelihood, rng):
    """Tasks of one survey, without the package's draws."""
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
    return br.Rankings(item, np.tile(RANKS, (N_TASKS, 1)), items=list(range(N_ITEMS)))


class Fit:
    """A likelihood, compiled once: draws of the normal at the mode, and their elpd."""

    def __init__(self, family, options, tasks):
        with pm.Model(coords=tasks.coords) as self.model:
            u = pm.Normal("u", 0, SPREAD, dims="item")
            y = family("y", u, observed=tasks, **options)
        self.logp, self.slope = self.model.compile_logp(), self.model.compile_dlogp()
        self.of_tasks = self.model.compile_logp(vars=y, sum=False)

    def elpd(self, tasks, rng, n_draws=200):
        br.set_observed("y", tasks, model=self.model)
        found = minimize(
            lambda u: -self.logp({"u": u}), np.zeros(N_ITEMS),
            jac=lambda u: -self.slope({"u": u}), method="L-BFGS-B",
        )  # fmt: skip
        step = 1e-4 * np.eye(N_ITEMS)
        ends = [[self.slope({"u": found.x + s * e}) for e in step] for s in (-1, 1)]
        precision = (np.array(ends[0]) - ends[1]) / 2e-4
        draws = rng.multivariate_normal(found.x, np.linalg.inv(precision), n_draws)
        logps = np.array([self.of_tasks({"u": u})[0] for u in draws])
        tree = az.from_dict({"posterior": {"u": draws[None]}, "log_likelihood": {"y": logps[None]}})
        with warnings.catch_warnings():  # a shape of 200 draws is noisy; no task decides utilities
            warnings.filterwarnings("ignore", "Estimated shape parameter")
            return az.loo(tree).elpd


@pytest.mark.slow
def test_loo_prefers_the_likelihood_that_made_the_choices():
    rng = np.random.default_rng(46)
    first = survey("exact", rng)
    fits = {name: Fit(*FAMILIES[name], first) for name in FAMILIES}
    preferred = []
    for k in range(N_SURVEYS):
        truth = list(FAMILIES)[k % len(FAMILIES)]
        tasks = survey(truth, rng)
        elpd = {name: fit.elpd(tasks, rng) for name, fit in fits.items()}
        preferred.append((truth, max(elpd, key=elpd.__getitem__)))
    assert sum(truth == best for truth, best in preferred) >= 18, preferred
