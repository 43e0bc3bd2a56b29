r"""Ballots of several rankers: Plackett-Luce with opinions, fitted in NumPy for studies.

Story: each ranker gives several ballots. Rankers agree only in part, so ballots of one ranker are
not independent. ``bayesrank rank`` uses the same model for rankers with several rankings:

    scale            ~ HalfNormal(3)
    spread           ~ HalfNormal(scale)              no opinions: spread = 0
    utility[i]       ~ Normal(0, scale)
    deviation[r, i]  ~ Normal(0, spread)
    ballot of r      ~ PlackettLuce(utility + deviation[r])

`fit` computes a nested Laplace approximation on a grid of the scale, without opinions.
`sample_opinions` draws from the exact posteriors of many tables at once. Both are independent of
`bayesrank` and compile nothing, so that a study can fit hundreds of tables. ``study.py`` uses them,
and ``RESULTS.md`` contains the tables.

Run ``python -m models.fit.model`` for an example: one table, with and without opinions.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

__all__ = ["Ballots", "draw_orders", "fit", "log_likelihood", "sample_opinions"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SCALES = np.exp(np.linspace(np.log(0.15), np.log(6), 10))
STEPS = 60  # of Newton's method, at most
SHRINKS = 60  # of a slice, at most


class Ballots(NamedTuple):
    """Full rankings of the presented items."""

    item: Ints  # (n_ballots, n_places), best first
    ranker: Ints  # (n_ballots,)
    n_items: int


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


def fit(ballots: Ballots, *, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw utilities (n_draws, n_items) from the posterior without opinions."""
    ballots = ballots._replace(ranker=np.zeros_like(ballots.ranker))
    nodes, logs, x = [], [], np.zeros(ballots.n_items)
    for scale in SCALES:
        x, precision, log_joint = _mode(x, ballots, scale)
        root = np.linalg.cholesky(precision)
        # the half-normal prior, by the logarithm of the scale
        logs.append(log_joint + np.log(scale) - scale**2 / 18 - np.log(np.diag(root)).sum())
        nodes.append((x, root))
    weight = np.exp(np.array(logs) - logsumexp(logs))
    draws = [
        mode + np.linalg.solve(root.T, rng.normal(size=(len(mode), n))).T
        for (mode, root), n in zip(nodes, rng.multinomial(n_draws, weight), strict=True)
    ]
    return np.concatenate(draws)[rng.permutation(n_draws)]


def _mode(x: Floats, ballots: Ballots, scale: float) -> tuple[Floats, Floats, float]:
    """Find the mode by Newton's method; return it, the precision there, the log joint density."""

    def at(x: Floats) -> tuple[float, Floats, Floats]:
        value, gradient, blocks = log_likelihood(x[None], ballots)
        value -= float(((x / scale) ** 2).sum() / 2 + len(x) * np.log(scale))
        return value, gradient[0] - x / scale**2, blocks[0] + np.eye(len(x)) / scale**2

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


def sample_opinions(
    orders: Ints,
    *,
    n_draws: int,
    rng: np.random.Generator,
    known: tuple[float, float] | None = None,
) -> Floats:
    """Draw utilities (n_draws, n_tables, n_items) from the posteriors with opinions.

    ``orders`` (n_tables, n_rankers, n_ballots, n_items) contains the items of every ballot, best
    first. ``known`` fixes scale and spread. A quarter as many draws are discarded first.

    A sweep has four steps. Elliptical slices update the utilities of each ranker [1]_. The common
    utilities are drawn from their normal conditional. A random walk updates scale and spread,
    without the common utilities. Another one moves all utilities with their scales.

    .. [1] Murray, Adams and MacKay (2010), Elliptical slice sampling, AISTATS.
    """
    n_tables, n_rankers, _, n_items = orders.shape
    rows = orders.reshape(n_tables * n_rankers, -1, n_items)

    def of_rankers(v: Floats, where: Any = slice(None)) -> Floats:
        """Return the log-likelihood of the utilities (n, n_items) of the rankers ``where``."""
        worth = np.exp(v - v.max(axis=1, keepdims=True))[:, None]
        worth = np.take_along_axis(worth, rows[where], axis=2)
        rest = worth[..., ::-1].cumsum(axis=2)[..., ::-1]
        return np.log(worth / rest).sum(axis=(1, 2))

    def by_table(x: Floats) -> Floats:
        return x.reshape(n_tables, n_rankers, *x.shape[1:])

    u, v = np.zeros((n_tables, n_items)), np.zeros((n_tables, n_rankers, n_items))
    a, b = (np.full(n_tables, np.log(x)) for x in (known or (1.0, 0.5)))
    value, kept = of_rankers(v.reshape(-1, n_items)), []
    for sweep in range(-(n_draws // 4), n_draws):
        for _ in range(3):
            mean = np.repeat(u, n_rankers, axis=0)
            apart = v.reshape(-1, n_items) - mean
            other = np.repeat(np.exp(b), n_rankers)[:, None] * rng.normal(size=apart.shape)
            value = _slice(apart, other, mean, value, of_rankers, rng)
            v = by_table(mean + apart)
            u = _common(v, a, b, rng)
        if known is None:
            a, b = _scales(v, a, b, rng)
            u = _common(v, a, b, rng)
            for _ in range(2):
                up, wider = rng.normal(0, 0.3, n_tables), rng.normal(0, 0.5, n_tables)
                new_u = np.exp(up)[:, None] * u
                new = new_u[:, None] + np.exp(wider)[:, None, None] * (v - u[:, None])
                found = of_rankers(new.reshape(-1, n_items))
                gain = by_table(found - value).sum(axis=1)
                gain += _log_prior(a + up, b + wider) - _log_prior(a, b)
                ok = np.log(rng.random(n_tables)) < gain
                a, b = np.where(ok, a + up, a), np.where(ok, b + wider, b)
                u, v = np.where(ok[:, None], new_u, u), np.where(ok[:, None, None], new, v)
                value = np.where(np.repeat(ok, n_rankers), found, value)
        if sweep >= 0:
            kept.append(u)
    return np.array(kept)


def _log_prior(a: Floats, b: Floats) -> Floats:
    """Return the log density of the logarithms of scale and spread."""
    return b - np.exp(2 * a) / 18 - np.exp(2 * (b - a)) / 2


def _slice(
    apart: Floats,
    other: Floats,
    mean: Floats,
    value: Floats,
    log_density: Any,
    rng: np.random.Generator,
) -> Floats:
    """Update deviations from the mean in place by elliptical slices; return the log density."""
    level = value + np.log(rng.random(len(value)))
    angle = rng.uniform(0, 2 * np.pi, len(value))
    low, high = angle - 2 * np.pi, angle.copy()
    value, active, start = value.copy(), np.arange(len(value)), apart.copy()
    for _ in range(SHRINKS):
        turn = angle[active, None]
        turned = start[active] * np.cos(turn) + other[active] * np.sin(turn)
        new = log_density(mean[active] + turned, active)
        ok = new > level[active]
        apart[active[ok]], value[active[ok]] = turned[ok], new[ok]
        active = active[~ok]
        if not len(active):
            break
        tried = angle[active]
        low[active] = np.where(tried < 0, tried, low[active])
        high[active] = np.where(tried > 0, tried, high[active])
        angle[active] = rng.uniform(low[active], high[active])
    return value


def _common(v: Floats, a: Floats, b: Floats, rng: np.random.Generator) -> Floats:
    """Draw the common utilities, given those of the rankers."""
    weight = np.exp(-2 * b)
    precision = v.shape[1] * weight + np.exp(-2 * a)
    noise = rng.normal(size=(len(v), v.shape[2]))
    total = v.sum(axis=1) * weight[:, None] + noise * np.sqrt(precision)[:, None]
    return total / precision[:, None]


def _scales(v: Floats, a: Floats, b: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Update the scales, given the utilities of the rankers; the common ones are integrated out."""
    n_rankers, n_items = v.shape[1:]
    mean = v.mean(axis=1)
    within = ((v - mean[:, None]) ** 2).sum(axis=(1, 2))
    between = n_rankers * (mean**2).sum(axis=1)

    def log_density(a: Floats, b: Floats) -> Floats:
        narrow, wide = np.exp(2 * b), np.exp(2 * b) + n_rankers * np.exp(2 * a)
        logs = (n_rankers - 1) * np.log(narrow) + np.log(wide)
        return _log_prior(a, b) - (within / narrow + between / wide + n_items * logs) / 2

    value = log_density(a, b)
    for _ in range(10):
        step = rng.choice([0.1, 0.3, 1.0]) * rng.normal(size=(2, len(a)))
        found = log_density(a + step[0], b + step[1])
        ok = np.log(rng.random(len(a))) < found - value
        a, b = np.where(ok, a + step[0], a), np.where(ok, b + step[1], b)
        value = np.where(ok, found, value)
    return a, b


def main() -> dict[str, Any]:
    """Fit one table with and without opinions, and print the probability that each item is best."""
    rng = np.random.default_rng(1)
    utility = rng.normal(size=5)
    opinion = utility + rng.normal(size=(8, 5))
    ranker = np.repeat(np.arange(8), 5)
    shown = np.broadcast_to(np.arange(5), (40, 5))
    ballots = Ballots(draw_orders(opinion[ranker], shown, rng), ranker, 5)
    orders = ballots.item.reshape(1, 8, 5, 5)
    draws = {
        "without opinions": fit(ballots, n_draws=2000, rng=rng),
        "with opinions": sample_opinions(orders, n_draws=2000, rng=rng)[:, 0],
    }
    best = {way: np.bincount(x.argmax(axis=1), minlength=5) / 2000 for way, x in draws.items()}
    print("truth", utility.round(2))
    for name, p in best.items():
        print(name, p)
    return best


if __name__ == "__main__":
    main()
