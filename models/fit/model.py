r"""Ballots of several rankers: Plackett-Luce with opinions, fitted in NumPy for studies.

Story: each ranker gives several ballots. Rankers agree only in part, so ballots of one ranker are
not independent. It is the model of ``bayesrank rank`` for rankers with several rankings:

    scale            ~ HalfNormal(3)
    spread           ~ HalfNormal(scale / 2)          no opinions: spread = 0
    utility[i]       ~ Normal(0, scale)
    deviation[r, i]  ~ Normal(0, spread)
    ballot of r      ~ PlackettLuce(utility + deviation[r])

`fit` is a nested Laplace approximation on a grid of the two scales. It is independent of
`bayesrank.fit_inla`, compiles nothing, and fits a table in a fraction of a second, so that a study
can fit hundreds. ``study.py`` uses it, and ``RESULTS.md`` contains the tables.

Run ``python -m models.fit.model`` for an example: one table, with and without opinions.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["Ballots", "Draws", "draw_orders", "fit", "log_likelihood"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCALES = np.exp(np.linspace(np.log(0.15), np.log(6), 10))
SPREADS = np.exp(np.linspace(np.log(0.03), np.log(3), 10))
STEPS = 60


class Ballots(NamedTuple):
    """Full rankings of the presented items."""

    item: Ints  # (n_ballots, n_places), best first
    ranker: Ints  # (n_ballots,)
    n_items: int


class Draws(NamedTuple):
    """Draws from the posterior."""

    utility: Floats  # (n_draws, n_items)
    deviation: Floats  # (n_draws, n_rankers, n_items); without opinions one ranker with zeros
    spread: Floats  # (n_draws,)


def draw_orders(utility: Floats, shown: Ints, rng: np.random.Generator) -> Ints:
    """Draw rankings of the shown items (..., n_places), given all utilities (..., n_items)."""
    scores = np.take_along_axis(utility, shown, -1) + rng.gumbel(size=shown.shape)
    return np.take_along_axis(shown, np.argsort(-scores, axis=-1), -1)


def log_likelihood(v: Floats, ballots: Ballots) -> tuple[float, Floats, Floats]:
    """Return the log-likelihood of v (n_rankers, n_items), its gradient, and minus its Hessian.

    The Hessian (n_rankers, n_items, n_items) has a block per ranker.
    """
    item, who = ballots.item, ballots.ranker[:, None]
    u = v[who, item]
    worth = np.exp(u - u.max(axis=1, keepdims=True))
    rest = worth[:, ::-1].cumsum(axis=1)[:, ::-1]
    p = np.triu(worth[:, None, :] / rest[:, :, None])[:, :-1]  # of each place, at each stage
    value = float((np.log(worth) - np.log(rest))[:, :-1].sum())
    gradient, hessian = np.zeros(v.shape), np.zeros((*v.shape, v.shape[1]))
    last = np.arange(item.shape[1]) == item.shape[1] - 1
    np.add.at(gradient, (who, item), np.where(last, 0.0, 1.0) - p.sum(axis=1))
    blocks = -np.einsum("kji,kjl->kil", p, p)
    diagonal = np.arange(item.shape[1])
    blocks[:, diagonal, diagonal] += p.sum(axis=1)
    np.add.at(hessian, (who[:, :, None], item[:, :, None], item[:, None, :]), blocks)
    return value, gradient, hessian


def fit(
    ballots: Ballots,
    *,
    opinions: bool,
    n_draws: int,
    rng: np.random.Generator,
    known: tuple[float, float] | None = None,
) -> Draws:
    """Draw from the posterior, with or without opinions; scale and spread may be known."""
    scales, spreads = SCALES, SPREADS if opinions else np.zeros(1)
    if known is not None:
        scales, spreads = np.array(known)[:, None]
    if not opinions:
        ballots = ballots._replace(ranker=np.zeros_like(ballots.ranker))
    n_rankers, n_items = int(ballots.ranker.max()) + 1, ballots.n_items
    nodes, logs, x = [], [], np.zeros(n_items * (1 + n_rankers * opinions))
    for scale in scales:
        start = x
        for spread in spreads:
            start, precision, log_joint = _mode(start, ballots, scale, spread, n_rankers)
            if spread == spreads[0]:
                x = start
            # half-normal priors, by the logarithms of the scales
            log_prior = np.log(scale) - scale**2 / 18
            if opinions:
                width = scale / 2
                log_prior += np.log(spread / width) - (spread / width) ** 2 / 2
            root = np.linalg.cholesky(precision)
            logs.append(log_joint + log_prior - np.log(np.diag(root)).sum())
            nodes.append((start, root, spread))
    weight = np.exp(np.array(logs) - logsumexp(logs))
    draws, spread_of = [], []
    for (mode, root, spread), n in zip(nodes, rng.multinomial(n_draws, weight), strict=True):
        if n:
            noise = np.linalg.solve(root.T, rng.normal(size=(len(mode), n))).T
            draws.append(mode + noise)
            spread_of += [spread] * n
    order = rng.permutation(n_draws)
    found = np.concatenate(draws)[order].reshape(n_draws, -1, n_items)
    deviation = found[:, 1:] if opinions else np.zeros((n_draws, 1, n_items))
    return Draws(found[:, 0], deviation, np.array(spread_of)[order])


def _mode(
    x: Floats, ballots: Ballots, scale: float, spread: float, n_rankers: int
) -> tuple[Floats, Floats, float]:
    """Find the mode by Newton's method; return it, the precision there, the log joint density."""
    n_items = ballots.n_items
    sd = np.full(len(x), scale)
    sd[n_items:] = spread

    def at(x: Floats) -> tuple[float, Floats, Floats]:
        by_ranker = x.reshape(-1, n_items)
        v = by_ranker[0] + by_ranker[1:] if spread else by_ranker
        value, gradient, blocks = log_likelihood(np.broadcast_to(v, (n_rankers, n_items)), ballots)
        value -= float(((x / sd) ** 2).sum() / 2 + np.log(sd).sum())
        slope, curve = -x / sd**2, np.diag(1 / sd**2)
        slope[:n_items] += gradient.sum(axis=0)
        curve[:n_items, :n_items] += blocks.sum(axis=0)
        if spread:
            slope[n_items:] += gradient.ravel()
            for r, block in enumerate(blocks):
                at_r = slice((r + 1) * n_items, (r + 2) * n_items)
                curve[at_r, at_r] += block
                curve[:n_items, at_r] += block
                curve[at_r, :n_items] += block
        return value, slope, curve

    value, slope, curve = at(x)
    for _ in range(STEPS):
        step = np.linalg.solve(curve, slope)
        gain, size = float(slope @ step), 1.0
        if gain < 1e-8:
            break
        while True:
            found = at(x + size * step)
            if found[0] > value or size < 1e-4:
                break
            size /= 2
        x = x + size * step
        value, slope, curve = found
    return x, curve, value


def main() -> dict[str, Any]:
    """Fit one table with and without opinions, and print the probability that each item is best."""
    rng = np.random.default_rng(1)
    utility = rng.normal(size=5)
    opinion = utility + rng.normal(size=(8, 5))
    ranker = np.repeat(np.arange(8), 5)
    shown = np.broadcast_to(np.arange(5), (40, 5))
    ballots = Ballots(draw_orders(opinion[ranker], shown, rng), ranker, 5)
    best = {}
    for opinions in (False, True):
        draws = fit(ballots, opinions=opinions, n_draws=2000, rng=rng)
        best[f"opinions={opinions}"] = np.bincount(draws.utility.argmax(axis=1), minlength=5) / 2000
    print("truth", utility.round(2))
    for name, p in best.items():
        print(name, p)
    return best


if __name__ == "__main__":
    main()
