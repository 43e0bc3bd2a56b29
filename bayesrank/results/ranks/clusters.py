r"""Clusters of ranks: items that are equally strong, from a prior with a spike on equality.

Under a continuous prior no two items are equal, so a posterior cannot say that they are. Here the
items form groups of equal strength, and the partition :math:`\pi` into k groups of the sizes
:math:`n_1, \dots, n_k` is unknown:

.. math::

    P(\pi) \propto \alpha^k \prod_g (n_g - 1)!, \qquad
    \theta_g \sim \operatorname{Normal}(0, \tau), \qquad w_i = \theta_{g(i)} .

This is the partition of a Dirichlet process. Two items are equal with prior probability
:math:`1 / (1 + \alpha)`, however many other items there are.

The draws come from the model without groups, :math:`w_i \sim \operatorname{Normal}(0, \tau)`. Let m
and C be their mean and covariance after the mean of all items is subtracted, and H this
projection. By the normal approximation of the
posterior, the likelihood is proportional to

.. math::

    \exp(-\tfrac{1}{2} w^T \Lambda w + h^T w), \qquad
    \Lambda = C^{+} - H / \tau^2, \quad h = C^{+} m .

With the membership matrix Z, :math:`A = Z^T \Lambda Z + I / \tau^2` and :math:`b = Z^T h`, the
marginal likelihood of a partition is proportional to

.. math:: \tau^{-k} |A|^{-1/2} \exp(\tfrac{1}{2} b^T A^{-1} b) .

Gibbs sampling moves one item at a time.

References
----------
Pearce and Erosheva (2025). Bayesian rank-clustering. Psychometrika. Their Bradley-Terry-Luce model
has another prior with a spike on equality.
"""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.special import gammaln

from bayesrank.data.read import check_whole
from bayesrank.results.draws import check_probability, single_group

__all__ = ["rank_clusters"]

Floats = NDArray[np.float64]
MOST_ITEMS = 200  # beyond, a sweep takes seconds
LEAST_DRAWS = 10  # per item, for their covariance


def rank_clusters(
    data: Any,
    var_name: str = "utility",
    *,
    prior_sd: float | None = None,
    prior_equal: float = 0.5,
    dim: str = "item",
    draws: int = 1000,
    tune: int = 200,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Find groups of items that are equally strong, by a prior with a spike on equality.

    The partition has the prior of a Dirichlet process, in which each two items are equal with
    probability `prior_equal`. The strengths of the groups are independent and normal. `tiers` say
    where the order is certain: items of a tier may differ. Items of a group are equal.

    Parameters
    ----------
    data, var_name, dim
        Posterior, variable and dim of the items, as in `rank_draws`, without other dims.
    prior_sd : float, optional
        Standard deviation of the independent normal priors of the utilities under which the draws
        were made, such as ``utility_scale`` of `ranking_model`. The groups have the same prior. A
        larger value makes equality more probable. By default, the posterior mean of a learned
        scale, ``utility_scale``.
    prior_equal : float
        Prior probability that two items are equally strong, in (0, 1).
    draws, tune : int
        Sweeps of the Gibbs sampler that count, and those before.
    random_seed : int, optional
        Random seed.

    Returns
    -------
    Dataset
        ``p_equal`` (dim, dim_other) is the probability that two items are equally strong, and
        ``p_better`` that the row's item is strictly better. ``p_groups`` (groups) is the
        probability of each number of groups. ``group`` (dim) is the most probable partition that
        was visited, 1 = best, and ``p_partition`` its probability. ``utility`` (chain, draw, dim)
        has the draws of the strengths, equal within a group. As the argument ``equal=`` of
        `rank_summary` and `tied_sets`, they keep equal items from being called better.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if there are other dims, too few draws or more than 200
        items. Also if `prior_sd` is missing or not positive.

    See Also
    --------
    tiers, tied_sets, tied_with_leader

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(1)
    >>> u = xr.DataArray(rng.normal([1.0, 0.9, -1.0], 0.15, (4, 500, 3)),
    ...                  dims=("chain", "draw", "item"), coords={"item": list("abc")})
    >>> found = br.rank_clusters(u, prior_sd=1.0, random_seed=1)
    >>> found["group"].values.tolist(), bool(found["p_equal"].sel(item="a", item_other="b") > 0.8)
    ([1, 1, 2], True)
    """
    check_whole(draws=draws, tune=tune)
    check_probability("prior_equal", prior_equal, 0.0)
    prior_sd = _learned_scale(data, var_name) if prior_sd is None else prior_sd
    if not 0 < prior_sd < np.inf:
        raise ValueError(f"`prior_sd` is {prior_sd}; it must be positive and finite.")
    utility, labels = single_group(data, var_name, dim)
    n_draws, n = utility.shape
    if n < 2 or n > MOST_ITEMS:
        raise ValueError(f"There must be 2 to {MOST_ITEMS} {dim}s; there are {n}.")
    if n_draws < LEAST_DRAWS * n:
        raise ValueError(
            f"There are {n_draws} draws of {n} {dim}s, too few for their covariance. Draw at least "
            f"{LEAST_DRAWS * n}."
        )
    likelihood = _likelihood(utility, prior_sd)
    chain = _Chain(likelihood, prior_sd, prior_equal, np.random.default_rng(random_seed))
    for _ in range(tune):
        chain.sweep()
    equal, better = np.zeros((n, n)), np.zeros((n, n))
    sizes, visits, kept = np.zeros(n), dict[bytes, int](), np.empty((1, draws, n))
    best, best_log_p = chain.label.copy(), -np.inf
    for k in range(draws):
        log_p = chain.sweep()
        label = chain.label
        if log_p > best_log_p:
            best, best_log_p = label.copy(), log_p
        key = _in_order(label).tobytes()
        visits[key] = visits.get(key, 0) + 1
        equal += label[:, None] == label
        kept[0, k] = strength = chain.strengths()[label]
        better += strength[:, None] > strength
        sizes[label.max()] += 1
    mean = utility.mean(axis=0)
    of_group = [mean[best == g].mean() for g in range(best.max() + 1)]
    place = np.argsort(np.argsort(-np.array(of_group)))
    other = f"{dim}_other"
    return xr.Dataset(
        {
            "p_equal": ((dim, other), equal / draws),
            "p_better": ((dim, other), better / draws),
            "p_groups": (("groups",), sizes / draws),
            "group": ((dim,), 1 + place[best]),
            "p_partition": visits[_in_order(best).tobytes()] / draws,
            "utility": (("chain", "draw", dim), kept),
        },
        {dim: labels, other: labels, "groups": np.arange(1, n + 1)},
    )


def _learned_scale(data: Any, var_name: str) -> float:
    """Return the posterior mean of the scale of the utilities."""
    if isinstance(data, xr.DataTree) and "posterior" in data.children:
        data = data["posterior"]
    name = f"{var_name}_scale"
    if name not in getattr(data, "data_vars", ()):
        raise ValueError(
            f"The posterior has no learned scale {name!r}, so give prior_sd=, the standard "
            "deviation of the prior of the utilities."
        )
    return float(data[name].mean())


class _Likelihood(NamedTuple):
    """A normal likelihood of the utilities, without its constant."""

    precision: Floats  # (n, n) the matrix Lambda
    linear: Floats  # (n,) the vector h


def _likelihood(utility: Floats, prior_sd: float) -> _Likelihood:
    """Divide the normal approximation of the posterior by the prior."""
    n_draws, n = utility.shape
    centred = utility - utility.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(np.cov(centred, rowvar=False))
    values, vectors = values[1:], vectors[:, 1:]  # the first direction is the mean of all items
    # the inverse of the covariance of few draws is too large on average (Hartlap et al. 2007)
    precision = (n_draws - n - 1) / (n_draws - 1) / values
    rest = np.maximum(precision - 1 / prior_sd**2, 0.0)  # noise may make it negative
    mean = vectors.T @ centred.mean(axis=0)
    return _Likelihood((vectors * rest) @ vectors.T, vectors @ (precision * mean))


class _Chain:
    """Gibbs sampling of the partition, with the strengths of the groups marginalised."""

    def __init__(
        self,
        likelihood: _Likelihood,
        prior_sd: float,
        prior_equal: float,
        rng: np.random.Generator,
    ) -> None:
        self.precision, self.linear = likelihood
        self.tau, self.rng = prior_sd, rng
        self.alpha = 1 / prior_equal - 1
        n = len(self.linear)
        self.label, self.size = np.arange(n), np.ones(n, dtype=np.int64)
        self.a, self.b = self.precision.copy(), self.linear.copy()  # A without the prior, and b

    def sweep(self) -> float:
        """Move each item once; return the log posterior of the partition, without a constant."""
        for item in self.rng.permutation(len(self.label)):
            self._move(int(item))
        return self._log_posterior()

    def strengths(self) -> Floats:
        """Draw the strengths of the groups given the partition."""
        inverse = np.linalg.inv(self.a + np.eye(len(self.b)) / self.tau**2)
        root = np.linalg.cholesky((inverse + inverse.T) / 2)
        found: Floats = root @ (root.T @ self.b + self.rng.normal(size=len(self.b)))
        return found

    def _log_posterior(self) -> float:
        k = len(self.b)
        matrix = self.a + np.eye(k) / self.tau**2
        prior = gammaln(self.size).sum() + k * np.log(self.alpha)
        quadratic = self.b @ np.linalg.solve(matrix, self.b)
        log_det = np.linalg.slogdet(matrix)[1]
        return float(prior - k * np.log(self.tau) - log_det / 2 + quadratic / 2)

    def _move(self, item: int) -> None:
        """Draw the group of an item given those of the others."""
        own, h = self.precision[item, item], self.linear[item]
        self._leave(item)
        label, k = self.label, len(self.b)
        matrix, b = self.a + np.eye(k) / self.tau**2, self.b
        inverse = np.linalg.inv(matrix)
        v = np.bincount(label[label >= 0], self.precision[item, label >= 0], k)
        # Joining group g adds u e' + e u' to A, and h to an element of b (e is column g of I).
        pv, pb, diagonal = inverse @ v, inverse @ b, np.diag(inverse)
        c = pv + own / 2 * diagonal
        d = v @ pv + own * pv + own**2 / 4 * diagonal
        determinant = (1 + c) ** 2 - diagonal * d
        x = pb + h * diagonal  # e' A^-1 b', where b' = b + h e
        y = v @ pb + own / 2 * pb + h * c  # u' A^-1 b'
        quadratic = b @ pb + 2 * h * pb + h**2 * diagonal
        quadratic += (d * x**2 - 2 * (1 + c) * x * y + diagonal * y**2) / determinant
        alone = own + 1 / self.tau**2 - v @ pv
        # without what all choices have in common
        log_p = np.append(
            np.log(self.size) - np.log(determinant) / 2 + quadratic / 2,
            np.log(self.alpha / self.tau) - np.log(alone) / 2
            + (b @ pb + (h - v @ pb) ** 2 / alone) / 2,
        )  # fmt: skip
        total = np.cumsum(np.exp(log_p - log_p.max()))
        group = int(np.searchsorted(total, self.rng.random() * total[-1], side="right"))
        self._join(item, group, v)

    def _leave(self, item: int) -> None:
        """Take an item out of its group, and remove the group if it is then empty."""
        group = self.label[item]
        v = np.bincount(self.label, self.precision[item], len(self.b))
        self.a[group] -= v
        self.a[:, group] -= v
        self.a[group, group] += self.precision[item, item]
        self.b[group] -= self.linear[item]
        self.size[group] -= 1
        self.label[item] = -1
        if self.size[group] == 0:
            self.a = np.delete(np.delete(self.a, group, 0), group, 1)
            self.b, self.size = np.delete(self.b, group), np.delete(self.size, group)
            self.label[self.label > group] -= 1

    def _join(self, item: int, group: int, v: Floats) -> None:
        """Put an item into a group, which may be a new one; `v` are its links with the groups."""
        k = len(self.b)
        if group == k:
            self.a = np.pad(self.a, (0, 1))
            self.b, self.size, v = np.append(self.b, 0.0), np.append(self.size, 0), np.append(v, 0)
        self.a[group] += v
        self.a[:, group] += v
        self.a[group, group] += self.precision[item, item]
        self.b[group] += self.linear[item]
        self.size[group] += 1
        self.label[item] = group


def _in_order(label: NDArray[Any]) -> NDArray[np.int64]:
    """Assign numbers to groups by first appearance, so that equal partitions are equal arrays."""
    _, first, codes = np.unique(label, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes].astype(np.int64)
