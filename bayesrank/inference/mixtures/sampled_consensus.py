"""The consensus of a model that marginalises it: draws, places, predictions.

`Mallows` without a consensus sums over all orders of the items, so only its concentration is
sampled. Given a draw of the concentration, the same sums give the exact posterior of the consensus.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import xarray as xr
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from pytensor.graph.traversal import ancestors

from bayesrank.distributions.core.observed import check_coords
from bayesrank.distributions.mallows.observed import MarginalMallowsRV
from bayesrank.inference.mixtures.evaluate_posterior import in_model_order
from bayesrank.likelihoods.mallows import (
    COST_TYPE,
    DISTANCES,
    consensus_costs,
    log_normaliser_given_sizes,
    log_normaliser_of_stages,
    n_chosen,
)
from bayesrank.likelihoods.mallows.order_kernels import (
    draw_order_kernel,
    log_total_of_orders,
    places_of_orders,
    table_of_sets,
)
from bayesrank.likelihoods.mallows.stage_kernels import stage_pairs_kernel
from bayesrank.schema import Kept

__all__ = ["consensus_log_likelihood", "sample_consensus"]

MODE = "FAST_COMPILE"  # the Ops are compiled in any mode, and the rest is small
TOLERANCE = 1e-10  # for the last coefficients of interpolated log-probabilities
DEGREES = (16, 32, 64)  # degrees of their Chebyshev series
Floats = NDArray[np.float64]


class _Marginalised:
    """A marginalised consensus: the rankings, and the draws of their concentrations."""

    def __init__(self, data: xr.DataTree, var_name: str, model: pm.Model | None) -> None:
        model = check_coords(pm.modelcontext(model))
        node: Any = getattr(model.named_vars.get(var_name), "owner", None)
        if not isinstance(getattr(node, "op", None), MarginalMallowsRV):
            raise ValueError(
                f"{var_name!r} is not a Mallows variable of the model that observes Rankings and "
                "marginalises its consensus. Name it in `var_name`. If the consensus is a "
                "parameter, the posterior contains its draws."
            )
        p = node.op.named(node.inputs[2:])
        self.by_stage = node.op.by_stage
        self.distance = DISTANCES[int(p.distance.data)]
        self.cost_type = COST_TYPE[self.distance]
        ranks, item, weight, sizes = (
            x.eval(mode=MODE) for x in (p.ranks, p.item, p.weight, p.sizes)
        )
        self.sizes: NDArray[np.int64] = sizes
        self.by_item = np.empty_like(ranks)
        np.put_along_axis(self.by_item, item, ranks, axis=1)
        self.weight: Floats = weight
        self.n = item.shape[1]
        self.item = Kept(data, var_name).item_axis or "item"
        self.ranking = model.named_vars_to_dims[var_name][0]
        self.coords = {
            dim: list(model.coords[dim])
            for dim in (self.item, self.ranking)
            if model.coords.get(dim) is not None
        }
        self.posterior = _posterior(data)
        # (n_draws, 1 or n_rankings); by stage, (n_draws, n_stages)
        self.alpha = self._draws(model, p.alpha)

    def _draws(self, model: pm.Model, alpha: Any) -> Floats:
        above = set(ancestors([alpha]))
        inputs = [rv for rv in model.free_RVs if rv in above]
        missing = [rv.name for rv in inputs if rv.name not in self.posterior]
        if missing:
            raise ValueError(
                f"The posterior has no variable {missing[0]!r}, on which the concentration "
                f"depends; it has {sorted(map(str, self.posterior.data_vars))}."
            )
        f = pm.compile(inputs, alpha, mode=MODE, on_unused_input="ignore")
        ordered = in_model_order(self.posterior, [rv.name for rv in inputs], model)
        stacked = [ordered[rv.name].transpose("chain", "draw", ...).to_numpy() for rv in inputs]
        values = [x.reshape(-1, *x.shape[2:]) for x in stacked]
        return np.array([f(*(x[i] for x in values)) for i in range(self.n_draws)])

    @property
    def n_draws(self) -> int:
        return self.posterior.sizes["chain"] * self.posterior.sizes["draw"]

    @functools.cached_property
    def costs(self) -> Floats:
        """Costs of each ranking for concentrations of one, (n_rankings, 1 or n_stages, n, n)."""
        if self.by_stage:
            stages = np.zeros(self.alpha.shape[1])
            rows = zip(self.by_item[:, None], self.weight[:, None], strict=True)
            return np.array([stage_pairs_kernel(stages, *row) for row in rows]) / self.n
        costs = consensus_costs(self.by_item, self.distance).eval(mode=MODE)
        return np.asarray(costs * self.weight[:, None, None] / self.n)[:, None]

    @property
    def is_shared(self) -> bool:
        """Whether all rankings have the same concentrations."""
        return self.by_stage or self.alpha.shape[1] == 1

    def costs_at(self, alpha: Floats) -> Floats:
        """Costs of each ranking in a draw, (n_rankings, n, n)."""
        if self.is_shared:
            return np.asarray(np.einsum("k,rkij->rij", alpha, self.costs))
        return np.asarray(alpha[:, None, None] * self.costs[:, 0])

    @property
    def total_costs(self) -> Floats:
        """Costs of all rankings in each draw, (n_draws, n, n)."""
        costs = self.costs.sum(axis=0) if self.is_shared else self.costs[:, 0]
        return np.tensordot(self.alpha, costs, 1)

    def log_ratios(self, total: Floats, costs: Floats) -> list[float]:
        """Return log ratios of the sums over orders with all rankings and without each one."""
        most = log_total_of_orders(total, self.cost_type)
        rest = np.maximum(total - costs, 0.0)
        return [most - log_total_of_orders(cost, self.cost_type) for cost in rest]

    def log_z(self) -> Floats:
        """Return log normalisers of the rankings in each draw, (n_draws, 1 or n_rankings)."""
        alpha = pt.tensor("alpha", dtype="float64", shape=self.alpha.shape[1:])
        if self.by_stage:
            log_z = log_normaliser_of_stages(alpha, self.n, n_chosen(self.by_item))
        else:
            sizes = self.sizes if self.sizes.size else None
            log_z = log_normaliser_given_sizes(alpha, self.n, self.distance, sizes)
        f = pm.compile([alpha], log_z, mode=MODE)
        return np.array([f(x) for x in self.alpha])

    def shaped(self, values: NDArray[Any], dims: tuple[str, ...]) -> xr.DataArray:
        """Return draws as an array with dims and coords."""
        shape = (self.posterior.sizes["chain"], self.posterior.sizes["draw"])
        coords = {d: self.posterior[d] for d in ("chain", "draw") if d in self.posterior.coords}
        labels_of_dims = {dim: labels for dim, labels in self.coords.items() if dim in dims}
        return xr.DataArray(
            values.reshape(*shape, *values.shape[1:]),
            dims=("chain", "draw", *dims),
            coords=coords | labels_of_dims,
        )


def _posterior(data: xr.DataTree) -> xr.Dataset:
    if "posterior" not in data.children:
        raise ValueError(
            f"The DataTree has no posterior; it has {sorted(map(str, data.children))}. Pass the "
            "result of pm.sample()."
        )
    return data["posterior"].to_dataset()


def sample_consensus(
    data: xr.DataTree,
    *,
    var_name: str = "y",
    model: pm.Model | None = None,
    random_seed: Any = None,
) -> xr.Dataset:
    r"""Draw the consensus that a Mallows model marginalises, exactly, for each posterior draw.

    .. math:: P(\rho \mid \alpha, \pi_1, \dots, \pi_N) \propto
              \exp\Bigl(-\sum_m \frac{\alpha_m}{n} d(\pi_m, \rho)\Bigr)

    The symbols are those of `Mallows`. With 20 items, a draw takes 0.1 s. Thin the posterior if it
    has many draws.

    Parameters
    ----------
    data : DataTree
        The result of `pm.sample`.
    var_name : str
        The variable that observes the rankings, a `Mallows` without a consensus.
    model : pm.Model, optional
        By default, the model in context.
    random_seed : int or numpy.random.Generator, optional
        Seed of the draws.

    Returns
    -------
    Dataset
        With the dims chain and draw:

        consensus (item)
            Ranks of the items, 1 = first. Summaries expect high values for good items, so pass the
            negative: ``br.rank_summary(-found["consensus"])``.
        place_probability (item, place)
            Exact probabilities given the draw's concentration. The mean over the draws is the
            posterior probability.

    Raises
    ------
    ValueError
        If the variable is not a `Mallows` that observes a `Rankings` and marginalises its
        consensus. Also if the posterior lacks a variable on which the concentration depends.

    See Also
    --------
    consensus_log_likelihood, LeapAndShift, Mallows

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     y = br.Mallows("y", alpha=pm.Exponential("alpha", 1.0), observed=rankings)
    >>> alpha = xr.Dataset({"alpha": (("chain", "draw"), [[0.0, 1.0, 2.0]])})
    >>> found = br.sample_consensus(xr.DataTree.from_dict({"posterior": alpha}), model=model)
    >>> found["place_probability"].sel(item="a").round(3).values
    array([[[0.333, 0.333, 0.333],
            [0.639, 0.274, 0.087],
            [0.806, 0.18 , 0.015]]])
    """
    consensus = _Marginalised(data, var_name, model)
    seeds = (
        np.random.default_rng(random_seed)
        .integers(0, 2**62, size=consensus.n_draws)
        .astype(np.uint64)
    )
    ranks, places = (
        np.empty((consensus.n_draws, consensus.n), np.int64),
        np.empty((consensus.n_draws, consensus.n, consensus.n)),
    )
    before = table = reduced = None
    for draw, cost in enumerate(consensus.total_costs):
        if before is not None and np.array_equal(cost, before):
            places[draw] = places[draw - 1]
        else:
            table, reduced, _ = table_of_sets(cost, consensus.cost_type)
            places[draw] = places_of_orders(cost, consensus.cost_type)
        before = cost
        draw_order_kernel(table, reduced, consensus.cost_type, seeds[draw : draw + 1], ranks[draw])
    probability = consensus.shaped(places, (consensus.item, "place"))
    return xr.Dataset(
        {
            "consensus": consensus.shaped(ranks + 1, (consensus.item,)),
            "place_probability": probability.assign_coords(place=np.arange(1, consensus.n + 1)),
        }
    )


def consensus_log_likelihood(
    data: xr.DataTree, *, var_name: str = "y", model: pm.Model | None = None
) -> xr.DataTree:
    r"""Add the log-probability of every ranking given all others, with the consensus marginalised.

    .. math:: \log P(\pi_m \mid \pi_{-m}, \alpha) =
              \log \frac{\sum_\rho e^{-\sum_l t_l d(\pi_l, \rho)}}
                        {\sum_\rho e^{-\sum_{l \ne m} t_l d(\pi_l, \rho)}} - \log Z_n(t_m),
              \qquad t_m = \alpha_m / n

    The symbols are those of `Mallows`. Without a consensus, rankings depend on each other, and
    `pymc.compute_log_likelihood` computes one number for all. This function adds the predictive
    probabilities that `arviz.loo` and `compare` need.

    Parameters
    ----------
    data, var_name, model
        See `sample_consensus`. The data are not changed.

    Returns
    -------
    DataTree
        The data with `var_name` in the group ``log_likelihood``, (chain, draw, ranking).

    Raises
    ------
    ValueError
        For the reasons of `sample_consensus`.

    See Also
    --------
    sample_consensus, Mallows, loo

    Notes
    -----
    If all rankings share one concentration, this is a smooth function of it. The function is
    computed at Chebyshev nodes and interpolated with an error below 1e-9. Each node takes one sum
    over orders for every distinct ranking.

    References
    ----------
    Bürkner, Gabry, Vehtari, Efficient leave-one-out cross-validation for Bayesian non-factorized
    normal and Student-t models, Computational Statistics 2021.

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"], ["a", "c", "b"]])
    >>> with pm.Model(coords=rankings.coords) as model:
    ...     y = br.Mallows("y", alpha=pm.Exponential("alpha", 1.0), observed=rankings)
    >>> alpha = xr.Dataset({"alpha": (("chain", "draw"), [[0.0, 1.0, 2.0]])})
    >>> idata = xr.DataTree.from_dict({"posterior": alpha})
    >>> idata = br.consensus_log_likelihood(idata, model=model)
    >>> idata.log_likelihood["y"].sel(draw=0).round(2).values
    array([[-1.79, -1.79, -1.79]])
    """
    consensus = _Marginalised(data, var_name, model)
    if consensus.alpha.shape[1] == 1:
        rows = np.column_stack([consensus.by_item, consensus.weight])
        _, first, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        total, costs = consensus.costs.sum(axis=0)[0], consensus.costs[first, 0]

        def ratios(alpha: Floats) -> Floats:
            return np.array([consensus.log_ratios(a * total, a * costs) for a in alpha])

        ratio = _interpolated(ratios, consensus.alpha[:, 0])[:, which.ravel()]
    else:
        ratio = np.array(
            [
                consensus.log_ratios(total, consensus.costs_at(alpha))
                for total, alpha in zip(consensus.total_costs, consensus.alpha, strict=True)
            ]
        )
    found = consensus.shaped(ratio - consensus.weight * consensus.log_z(), (consensus.ranking,))
    out = data.copy()
    has_group = "log_likelihood" in out.children
    present = out["log_likelihood"].to_dataset() if has_group else xr.Dataset()
    out["log_likelihood"] = xr.DataTree(
        present.drop_vars(var_name, errors="ignore").assign({var_name: found})
    )
    return out


def _interpolated(f: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Evaluate a smooth function at many points, (n_points, ...), by interpolation."""
    low, high = x.min(), x.max()
    distinct, which = np.unique(x, return_inverse=True)

    def scaled(u: Any) -> Any:
        return f(low + (high - low) * (u + 1) / 2)

    for degree in DEGREES:
        if 2 * degree > len(distinct):
            break
        series = chebyshev.chebinterpolate(scaled, degree)
        if np.abs(series[-4:]).max() < TOLERANCE:
            return np.asarray(chebyshev.chebval(2 * (x - low) / (high - low) - 1, series).T)
    return f(distinct)[which.ravel()]
