r"""Matches of one judge: posterior mode and Laplace approximation from counts.

The model is `bayesrank.leaderboard.leaderboard_model` without judges and categories: Davidson, or
Bradley-Terry without ties. Two items meet n times, and the first has the lead
:math:`d = w_i - w_j + o`. The outcomes have the probabilities

.. math:: (p_1, p_2, p_t) \propto (e^{d/2},\, e^{-d/2},\, \nu),

and the derivative of the log-probability with respect to d is
:math:`\tfrac12 (c_1 - c_2 - n (p_1 - p_2))`. With respect to :math:`\eta = \log \nu` it is
:math:`c_t - n p_t`. The second derivatives are minus n times the variances and the covariance of
the two statistics. Newton's method takes about ten passes over the pairs, and nothing is compiled.

Only differences between utilities matter, so draws are centred.
"""

from dataclasses import dataclass

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.linalg import cho_solve, cholesky, solve_triangular

from bayesrank.data import Pairs
from bayesrank.data.derive import pair_totals
from bayesrank.inference.approximation.modes import one_blas_thread

__all__ = ["MatchFit", "fit_matches", "fit_pairs"]

Floats = NDArray[np.float64]

ORDER_SCALE = 0.5  # standard deviations of the priors of `leaderboard_model`
TIE_SCALE = 1.0
MOST_STEPS = 200
ENOUGH = 1e-7  # nats gained by the last step; the remaining error is of the order of its square


def fit_pairs(
    pairs: Pairs,
    *,
    utility_scale: float = 1.0,
    order_effect: bool = True,
    draws: int = 1000,
    chains: int = 4,
    random_seed: int | None = None,
) -> xr.DataTree:
    """Approximate the posterior of a leaderboard without judges, in a tenth of a second.

    Parameters
    ----------
    pairs : Pairs
        Matches of one judge. The model is `Davidson` if there are ties, and `BradleyTerry`
        otherwise.
    utility_scale : float
        Standard deviation of the utilities, positive.
    order_effect : bool
        Whether the first item of a pair may have an advantage.
    draws, chains, random_seed
        As in `fit_inla`.

    Returns
    -------
    DataTree
        Group ``posterior`` with draws of ``utility``, centred, and of ``order_effect`` and ``nu``
        if the model has them. They come from the normal around the mode (for nu, of its logarithm).

    Raises
    ------
    ValueError
        If there are several judges, or the scale is not positive.

    Examples
    --------
    >>> pairs = Pairs.from_matrix([[0, 30], [10, 0]], items=["a", "b"])
    >>> fit = fit_pairs(pairs, utility_scale=9, order_effect=False, random_seed=1)
    >>> posterior = fit["posterior"]
    >>> lead = posterior["utility"].sel(item="a") - posterior["utility"].sel(item="b")
    >>> round(float(lead.mean()), 1), round(float(lead.std()), 1)  # log 3, and about √(1/30 + 1/10)
    (1.1, 0.4)
    """
    if len(pairs.judges) > 1:
        raise ValueError(
            f"Expected the matches of one judge; got {len(pairs.judges)} judges. Use fit_inla on "
            "leaderboard_model(pairs), or read the table without its judge column."
        )
    fit = fit_matches(pairs, utility_scale=utility_scale, order_effect=order_effect)
    noise = np.random.default_rng(random_seed).normal(size=(fit.mode.size, draws * chains))
    found = fit.mode + solve_triangular(fit.factor, noise, lower=True, trans="T").T
    return _tree(fit, found, pairs, chains)


def fit_matches(
    pairs: Pairs,
    *,
    utility_scale: float = 1.0,
    order_effect: bool = True,
    near: "MatchFit | None" = None,
) -> "MatchFit":
    """Find the posterior mode of a leaderboard without judges, and the curvature there.

    Parameters
    ----------
    pairs : Pairs
        Matches; their judges are ignored.
    utility_scale, order_effect
        As in `fit_pairs`.
    near : MatchFit, optional
        A fit of similar matches, from which the search starts.

    Returns
    -------
    MatchFit

    Raises
    ------
    ValueError
        If the scale is not positive.

    Examples
    --------
    >>> pairs = Pairs.from_matrix([[0, 30], [10, 0]], items=["a", "b"])
    >>> fit = fit_matches(pairs, utility_scale=9, order_effect=False)
    >>> round(float(fit.utility[0] - fit.utility[1]), 1)  # log 3
    1.1
    """
    if not 0 < utility_scale < np.inf:
        raise ValueError(f"`utility_scale` is {utility_scale}; it must be positive and finite.")
    problem = _Counts(pairs, utility_scale, order_effect)
    known = near is not None and near.mode.size == problem.precision.size
    start = near.mode if near is not None and known else problem.start()
    with one_blas_thread():
        found = problem.mode(start)
    return MatchFit(*found, problem.n_items, problem.order, problem.ties)


@dataclass(frozen=True)
class MatchFit:
    """A normal around the mode of utilities and, if there are any, order effect and log nu.

    Attributes
    ----------
    mode : array, shape (n,)
        The utilities, then the order effect, then log nu.
    factor : array, shape (n, n)
        Cholesky factor of the precision.
    n_items : int
        Number of utilities.
    order, ties : bool
        Whether the model has an order effect, and whether it has nu.
    """

    mode: Floats
    factor: Floats
    n_items: int
    order: bool
    ties: bool

    @property
    def utility(self) -> Floats:
        """Utilities at the mode."""
        return self.mode[: self.n_items]

    @property
    def order_effect(self) -> tuple[float, float]:
        """The order effect and its standard error; zeros where there is none."""
        if not self.order:
            return 0.0, 0.0
        unit = np.zeros(self.mode.size)
        unit[self.n_items] = 1.0
        return float(self.mode[self.n_items]), float(np.sqrt(self.solve(unit)[self.n_items]))

    def solve(self, b: Floats) -> Floats:
        """Multiply by the covariance."""
        return np.asarray(cho_solve((self.factor, True), b))

    def probabilities(self, lead: Floats) -> Floats:
        """Probabilities that the first wins, the second wins, and the two tie, (..., 3).

        Parameters
        ----------
        lead : array, shape (...)
            Utility of the first minus the utility of the second, without the order effect.
        """
        d = lead + self.order_effect[0]
        return np.stack(_outcomes(d, self.mode[-1] if self.ties else -np.inf)[2:], axis=-1)

    def influence(self, pairs: Pairs, one: int, other: int) -> Floats:
        """Compute how one more match changes the lead of one item over another.

        The change is one Newton step. Returns it for each pair and outcome, (n_pairs, 3).
        """
        contrast = np.zeros(self.mode.size)
        contrast[one], contrast[other] = 1.0, -1.0
        change = self.solve(contrast)
        p = self.probabilities(self.utility[pairs.first] - self.utility[pairs.second])
        along = change[pairs.first] - change[pairs.second]
        along = along + (change[self.n_items] if self.order else 0.0)
        points = np.array([0.5, -0.5, 0.0]) - (p[:, :1] - p[:, 1:2]) / 2
        tied = (np.array([0.0, 0.0, 1.0]) - p[:, 2:]) * (change[-1] if self.ties else 0.0)
        return along[:, None] * points + tied


class _Counts:
    """The log posterior of utilities and, if the model has them, order effect and log nu."""

    def __init__(self, pairs: Pairs, scale: float, order_effect: bool) -> None:
        ties = bool(pairs.counts[:, 2].any())
        counts = pairs.counts if ties else pairs.counts[:, :2]
        totals = pair_totals(pairs.first, pairs.second, counts, pairs.weight, ordered=order_effect)
        self.first, self.second = totals.first.astype(np.intp), totals.second.astype(np.intp)
        self.won, self.lost, *tied = totals.counts
        self.tied = tied[0] if ties else np.zeros_like(self.won)
        self.n = self.won + self.lost + self.tied
        self.points = (self.won - self.lost) / 2
        self.cell = self.first * pairs.n_items + self.second
        self.n_items, self.order, self.ties = pairs.n_items, order_effect, ties
        sizes = [(scale, self.n_items), (ORDER_SCALE, int(order_effect)), (TIE_SCALE, int(ties))]
        self.precision = np.concatenate([np.full(n, s**-2.0) for s, n in sizes])

    def start(self) -> Floats:
        """Return log odds of the shares of points, as if all had met the same opponents.

        Opponents of different strengths shrink log odds; a factor from their variance corrects it.
        """
        K = self.n_items
        points = np.bincount(self.first, self.points, K) - np.bincount(self.second, self.points, K)
        met = np.bincount(self.first, self.n, K) + np.bincount(self.second, self.n, K)
        utility = 2 * np.arctanh(2 * points / (met + 4 * self.precision[:K] + 1))
        out = np.zeros(self.precision.size)
        out[:K] = (utility - utility.mean()) * np.sqrt(1 + np.pi / 8 * utility.var())
        return out

    def at(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Log density, gradient, and minus the Hessian."""
        K, order, ties = self.n_items, self.order, self.ties
        d = x[self.first] - x[self.second] + (x[K] if order else 0.0)
        eta = x[-1] if ties else -np.inf
        high, whole, p, q, t = _outcomes(d, eta)
        n, apart = self.n, p - q
        value = self.points @ d - n @ (high + np.log(whole))
        value += self.tied.sum() * eta if ties else 0.0
        value -= self.precision @ x**2 / 2

        slope = self.points - n * apart / 2
        gradient = -self.precision * x
        gradient[:K] += np.bincount(self.first, slope, K) - np.bincount(self.second, slope, K)
        bend = n * (p + q - apart * apart) / 4  # n times the variance of ±1/2
        cells = np.bincount(self.cell, bend, K * K).reshape(K, K)
        H = np.zeros((x.size, x.size))
        np.subtract(-cells, cells.T, out=H[:K, :K])
        H.ravel()[:: x.size + 1] += self.precision
        diagonal = cells.sum(axis=0) + cells.sum(axis=1)
        H.ravel()[: K * x.size : x.size + 1] += diagonal
        if order:
            gradient[K] += slope.sum()
            H[K, :K] = H[:K, K] = cells.sum(axis=1) - cells.sum(axis=0)
            H[K, K] += bend.sum()
        if ties:
            both = -n * t * apart / 2  # n times the covariance
            across = np.bincount(self.first, both, K) - np.bincount(self.second, both, K)
            gradient[-1] += (self.tied - n * t).sum()
            H[-1, :K] = H[:K, -1] = across
            H[-1, -1] += (n * t * (1 - t)).sum()
            if order:
                H[-1, K] = H[K, -1] = both.sum()
        return float(value), gradient, H

    def mode(self, x: Floats) -> tuple[Floats, Floats]:
        """Find the mode from x by Newton's method, and the factor of the precision there."""
        value, gradient, H = self.at(x)
        for _ in range(MOST_STEPS):
            # concave, because the prior is proper and log-sum-exp is convex
            factor = cholesky(H, lower=True, overwrite_a=True, check_finite=False)
            step = cho_solve((factor, True), gradient, check_finite=False)
            gain = float(gradient @ step) / 2
            if gain < ENOUGH:
                return x + step, factor
            rounding = 1e-13 * (1 + abs(value))  # error of a sum
            for length in 0.5 ** np.arange(34):
                candidate = x + length * step
                reached = self.at(candidate)
                if reached[0] >= value + 1e-4 * length * gain - rounding:
                    break
            else:
                break
            x, (value, gradient, H) = candidate, reached
        return x, factor


def _outcomes(d: Floats, eta: float) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Return scale and sum of the outcomes' weights, and the probabilities: win, loss, tie."""
    half = d / 2
    high = np.maximum(np.abs(half), eta)
    up, down = np.exp(half - high), np.exp(-half - high)
    level = np.exp(eta - high) if eta > -np.inf else np.zeros_like(d)
    whole = up + down + level
    return high, whole, up / whole, down / whole, level / whole


def _tree(fit: MatchFit, found: Floats, pairs: Pairs, chains: int) -> xr.DataTree:
    utility = found[:, : fit.n_items]
    values = {"utility": utility - utility.mean(axis=1, keepdims=True)}
    if fit.order:
        values["order_effect"] = found[:, fit.n_items]
    if fit.ties:
        values["nu"] = np.exp(found[:, -1])
    out = az.from_dict(
        {"posterior": {k: v.reshape(chains, -1, *v.shape[1:]) for k, v in values.items()}},
        coords={"item": pairs.coords["item"]},
        dims={"utility": ["item"]},
    )
    out["posterior"].attrs.update({"inference_library": "bayesrank", "approximation": "Laplace"})
    return out
