r"""Matches of one judge: posterior mode and Laplace approximation from counts.

The model is `bayesrank.leaderboard_model` without judges and categories: Davidson, or
Bradley-Terry without ties. The first of two items has the lead :math:`d = w_i - w_j + o`, and
:math:`\eta = \log \nu` is the tie parameter. `outcome_curvature` gives the derivatives of the
log-probabilities with respect to both. Newton's method takes about ten passes over the pairs, and
nothing is compiled. With many items, minus the Hessian is a sparse matrix, and time and memory are
linear in items and pairs (`approximation.krylov`).

Only differences between utilities matter, so draws are centred.
"""

from dataclasses import dataclass
from typing import Any

import arviz as az
import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayesrank.data import Pairs
from bayesrank.data.derive import pair_totals
from bayesrank.data.read import check_whole
from bayesrank.inference.approximation.block_precision import Dense
from bayesrank.inference.approximation.krylov import Krylov
from bayesrank.inference.approximation.modes import one_blas_thread
from bayesrank.inference.approximation.newton import Step, climb_by_newton
from bayesrank.likelihoods.ops.arrays import MOST_DENSE
from bayesrank.match_outcomes import outcome_curvature, outcome_probabilities

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
        otherwise. Of grades, and of votes that both items are bad, only who won counts.
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

    See Also
    --------
    fit_rankings, fit_inla, leaderboard_model

    Examples
    --------
    >>> import bayesrank as br
    >>> pairs = br.Pairs.from_matrix([[0, 30], [10, 0]], items=["a", "b"])
    >>> fit = br.fit_pairs(pairs, utility_scale=9, order_effect=False, random_seed=1)
    >>> posterior = fit["posterior"]
    >>> lead = posterior["utility"].sel(item="a") - posterior["utility"].sel(item="b")
    >>> round(float(lead.mean()), 1), round(float(lead.std()), 1)  # log 3, and about √(1/30 + 1/10)
    (1.1, 0.4)
    """
    check_whole(draws=draws, chains=chains)
    if len(pairs.judges) > 1:
        raise ValueError(
            f"Expected the matches of one judge; got {len(pairs.judges)} judges. Use fit_inla on "
            "leaderboard_model(pairs), or read the table without its judge column."
        )
    fit = fit_matches(pairs, utility_scale=utility_scale, order_effect=order_effect)
    found = fit.precision.noise(draws * chains, np.random.default_rng(random_seed)).T
    found += fit.mode
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
    precision : Dense or Krylov
        The precision, (n, n); of more than 2,000 variables, by its products.
    n_items : int
        Number of utilities.
    order, ties : bool
        Whether the model has an order effect, and whether it has nu.
    """

    mode: Floats
    precision: Dense | Krylov
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
        return float(self.mode[self.n_items]), float(
            np.sqrt(self.precision.solve(unit)[self.n_items])
        )

    def probabilities(self, lead: Floats) -> Floats:
        """Probabilities that the first wins, the second wins, and the two tie, (..., 3).

        Parameters
        ----------
        lead : array, shape (...)
            Utility of the first minus the utility of the second, without the order effect.
        """
        d = lead + self.order_effect[0]
        nu = np.exp(self.mode[-1]) if self.ties else 0.0
        return outcome_probabilities(d, nu)

    def influence(self, pairs: Pairs, one: int, other: int) -> Floats:
        """Compute how one more match changes the lead of one item over another.

        The change is one Newton step. Returns it for each pair and outcome, (n_pairs, 3).
        """
        contrast = np.zeros(self.mode.size)
        contrast[one], contrast[other] = 1.0, -1.0
        change = self.precision.solve(contrast)
        p = self.probabilities(self.utility[pairs.first] - self.utility[pairs.second])
        along = change[pairs.first] - change[pairs.second]
        along = along + (change[self.n_items] if self.order else 0.0)
        points = np.array([0.5, -0.5, 0.0]) - (p[:, :1] - p[:, 1:2]) / 2
        tied = (np.array([0.0, 0.0, 1.0]) - p[:, 2:]) * (change[-1] if self.ties else 0.0)
        return along[:, None] * points + tied


class _Counts:
    """The log posterior of utilities and, if the model has them, order effect and log nu."""

    def __init__(self, pairs: Pairs, scale: float, order: bool) -> None:
        ties = bool(pairs.counts[:, 2].any())
        totals = pair_totals(pairs.first, pairs.second, pairs.counts, pairs.weight, ordered=order)
        self.first, self.second = totals.first.astype(np.intp), totals.second.astype(np.intp)
        self.counts = totals.counts.T
        self.n_items, self.order, self.ties = pairs.n_items, order, ties
        sizes = [(scale, self.n_items), (ORDER_SCALE, int(order)), (TIE_SCALE, int(ties))]
        self.precision = np.concatenate([np.full(n, s**-2.0) for s, n in sizes])

    def start(self) -> Floats:
        """Return log odds of the shares of points, as if all had met the same opponents.

        Opponents of different strengths shrink log odds; a factor from their variance corrects it.
        """
        won, lost, _ = self.counts.T
        met = np.bincount(
            np.append(self.first, self.second), np.tile(self.counts.sum(1), 2), self.n_items
        )
        points = self.by_item(won - lost)
        utility = 2 * np.arctanh(points / (met + 4 * self.precision[: self.n_items] + 1))
        out = np.zeros(self.precision.size)
        out[: self.n_items] = (utility - utility.mean()) * np.sqrt(1 + np.pi / 8 * utility.var())
        return out

    def by_item(self, per_pair: Floats) -> Floats:
        """Sum over the pairs of each item: plus as the first item, minus as the second."""
        K = self.n_items
        return np.bincount(self.first, per_pair, K) - np.bincount(self.second, per_pair, K)

    def at(self, x: Floats) -> tuple[float, Floats, Floats]:
        """Log density, gradient, and the curvature of each pair by its lead and log nu."""
        K, known = self.n_items, [self.order, self.ties]
        lead = x[self.first] - x[self.second] + (x[K] if self.order else 0.0)
        logp, slope, curvature = outcome_curvature(
            lead, x[-1] if self.ties else -np.inf, self.counts, davidson=True
        )

        total = slope.sum(axis=0)[known]
        gradient = np.append(self.by_item(slope[:, 0]), total) - self.precision * x
        return float(logp.sum() - self.precision @ x**2 / 2), gradient, curvature

    def precision_of(self, curvature: Floats) -> Dense | Krylov:
        """Return minus the Hessian; it is positive definite, because the prior is proper."""
        K, known, bend = self.n_items, [self.order, self.ties], curvature[:, 0, 0]
        edge = np.stack([self.by_item(bend), self.by_item(curvature[:, 0, 1])])[known]
        corner = curvature.sum(axis=0)[np.ix_(known, known)]
        if self.precision.size > MOST_DENSE:
            return Krylov.of_sparse(self._sparse(bend, edge, corner))
        cells = np.bincount(self.first * K + self.second, bend, K * K).reshape(K, K)
        H = np.diag(self.precision)
        H.ravel()[: K * H.shape[0] : H.shape[0] + 1] += cells.sum(axis=0) + cells.sum(axis=1)
        H[:K, :K] -= cells
        H[:K, :K] -= cells.T
        H[K:, :K], H[:K, K:] = edge, edge.T
        H[K:, K:] += corner
        return Dense(H)

    def _sparse(self, bend: Floats, edge: Floats, corner: Floats) -> csr_array:
        """Return the same matrix without its zeros."""
        n, every = self.precision.size, np.arange(self.precision.size)
        last, first, second = every[self.n_items :], self.first, self.second
        row, column = (x.ravel() for x in np.meshgrid(last, every[: self.n_items], indexing="ij"))
        parts = [
            (every, every, self.precision),
            (first, first, bend), (second, second, bend),
            (first, second, -bend), (second, first, -bend),
            (row, column, edge.ravel()), (column, row, edge.ravel()),
            (np.repeat(last, last.size), np.tile(last, last.size), corner.ravel()),
        ]  # fmt: skip
        i, j, value = map(np.concatenate, zip(*parts, strict=True))
        return csr_array((value, (i, j)), shape=(n, n))

    def mode(self, x: Floats) -> tuple[Floats, Dense | Krylov]:
        """Find the mode from x by Newton's method, and the precision there."""
        precision: Any = None  # where the last step began, as near to the mode as its gain says

        def step_at(x: Floats, found: Any) -> Step:
            nonlocal precision
            _, gradient, curvature = found
            precision = self.precision_of(curvature)
            step = precision.solve(gradient)
            return Step(step, float(gradient @ step) / 2)

        x, *_ = climb_by_newton(self.at, step_at, x, enough=ENOUGH, most_steps=MOST_STEPS)
        return x, precision


def _tree(fit: MatchFit, found: Floats, pairs: Pairs, chains: int) -> xr.DataTree:
    utility = found[:, : fit.n_items]
    utility -= utility.mean(axis=1, keepdims=True)  # in place: the draws are the largest array
    values = {"utility": utility}
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
