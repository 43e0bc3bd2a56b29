r"""Mixtures: the best of many modes found by EM, and the component of each ranker.

The posterior of a mixture has many modes. Some are permutations of the components, which are
equivalent; others are worse. A sampler stays in the mode where it begins. Given the
responsibilities

.. math:: r_{ug} = P(\text{u belongs to component g} \mid y_u, \theta),

the M-step climbs :math:`Q(\theta) = \log p(\theta) + \sum_{ug} r_{ug} \ell_{ug}(\theta)`, by a few
steps of L-BFGS, with :math:`\ell` from `bayesrank.likelihoods.mixture`. Each step raises the log
posterior (Dempster, Laird & Rubin 1977). Near a mode, where EM is slow, L-BFGS climbs the log
posterior directly (Redner & Walker 1984).

The consensus of a Mallows component has no gradient. Given responsibilities, the best order of each
component is found separately (Murphy & Martin 2003). At the end, neighbours in an order are
exchanged wherever this raises the log posterior.
"""

import functools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from pymc.blocking import DictToArrayBijection
from pymc.pytensorf import join_nonshared_inputs
from pytensor.graph.replace import clone_replace

from bayesrank.distributions.core.observed import check_coords
from bayesrank.inference.approximation.modes import Point, climb, constrained, kept_of
from bayesrank.inference.mixtures.conditionals import MixtureData, depending
from bayesrank.inference.mixtures.evaluate_posterior import at_draws, in_model_order
from bayesrank.likelihoods.mixture import component_probs, joint_logp
from bayesrank.likelihoods.ops import stop_gradient
from bayesrank.schema import COMPONENTS, ITEM, RANKER, RANKS

__all__ = ["MixtureFit", "MixtureWarning", "component_probabilities", "fit_mixture"]

SAME = 0.01  # log posteriors this close belong to one mode
EMPTY = 0.5  # a component with a smaller expected number of units counts as empty
NEAREST = 0.8  # initial membership of the nearest centre, on top of an equal share
GAIN = 1e-3  # gain of an EM step, per unit, below which only L-BFGS continues
EM_STEPS, M_STEPS = 500, 3  # largest numbers: of EM steps, and of L-BFGS steps in each
FURTHER = 30  # iterations beyond the end, to check convergence
SMALL = "FAST_COMPILE"  # for small graphs, which need no compilation
RESTARTS = 5  # largest number of runs of L-BFGS, which may stop early because of its memory

Floats = NDArray[np.float64]


class MixtureWarning(UserWarning):
    """The best mode of a mixture was reached only once, or has empty components."""


@dataclass(frozen=True)
class MixtureFit:
    """The best mode of a mixture, and how often it was found.

    Attributes
    ----------
    mode : DataTree
        Variables and deterministics of the model at the mode, as a posterior with one draw.
    initvals : dict
        Values of the free variables, for ``pm.sample(initvals=...)``.
    point : dict
        The same values in the space of the sampler.
    log_posterior : array, (n_starts,)
        Log posterior at the end of each start, best first, up to a constant.
    n_reached : int
        Number of starts that ended at the best mode.
    share : DataArray
        Expected share of the units that belong to each component.
    log_likelihood : float
        Log-likelihood of all data of the mixture at the mode.
    n_parameters : int
        Number of free parameters, without those fixed by constraints; a consensus counts as one.
    n_units : float
        Number of rankings or rankers, weighted by evidence weights.
    """

    mode: Any
    initvals: dict[str, Floats]
    point: Point
    log_posterior: Floats
    n_reached: int
    share: xr.DataArray
    log_likelihood: float
    n_parameters: int
    n_units: float

    @property
    def bic(self) -> float:
        r"""Schwarz's criterion, :math:`-2 \log L + k \log n`: the lower the better.

        It uses the posterior mode instead of the maximum likelihood, so priors should be wide.
        """
        return -2 * self.log_likelihood + self.n_parameters * float(np.log(self.n_units))

    def __str__(self) -> str:
        n = len(self.log_posterior)
        shares = ", ".join(f"{x:.0%}" for x in self.share.to_numpy())
        return (
            f"The best mode was reached from {self.n_reached} of {n} starts "
            f"(log posterior {self.log_posterior[0]:,.2f}); shares of the {self.share.size} "
            f"components: {shares}; BIC {self.bic:,.1f}."
        )


def fit_mixture(
    *,
    var_name: str = "y",
    n_starts: int = 20,
    random_seed: int | None = None,
    mode: str | None = None,
    model: pm.Model | None = None,
) -> MixtureFit:
    """Find the best mode of a mixture from many starts, by EM.

    A start assigns every unit to the nearest of several centres, by the mean places of the items.
    Centres are units, drawn with probability proportional to the squared distance from the nearest
    centre so far (k-means++).

    Parameters
    ----------
    var_name : str
        Name of the mixture.
    n_starts : int
        Number of starts, 1 or more.
    random_seed : int, optional
        Seed of the starts.
    mode : str, optional
        PyTensor's compilation mode.
    model : pm.Model, optional
        A model with a `Mixture` that observes `Rankings`; by default, the model of the context.
        Free variables must be continuous, or the consensus of a `Mallows` or `GeneralizedMallows`
        component with a uniform prior.

    Returns
    -------
    MixtureFit
        The best mode: the maximum of the posterior density on the original scale of the variables,
        not in the space of the sampler. The order of the components is arbitrary. ``mode`` is a
        DataTree with one draw, and ``initvals`` are starting values for `pm.sample`. ``share``
        holds the expected shares of the units by component. ``n_reached`` counts the starts that
        ended at this mode, and ``log_posterior`` has one value per start, best first.
        ``log_likelihood``, ``n_parameters`` and ``n_units`` are the terms of the BIC.

    Raises
    ------
    ValueError
        If the model has no such mixture or has other discrete variables, or if there are more
        components than units.

    Warns
    -----
    MixtureWarning
        If only one of several starts reached the best mode, or the search for it did not converge.
        If a component is empty at the best mode, or all units are equal.

    See Also
    --------
    Mixture, component_probabilities, relabel_components, compare_components

    Notes
    -----
    With Mallows components, start NUTS and `LeapAndShift` from the mode, and relabel the components
    by their consensus: ``br.relabel_components(posterior, found.mode, var_name="consensus")``.

    References
    ----------
    Dempster, Laird & Rubin, Maximum likelihood from incomplete data via the EM algorithm, Journal
    of the Royal Statistical Society B 1977.

    Arthur & Vassilvitskii, k-means++: the advantages of careful seeding, SODA 2007.

    Murphy & Martin, Mixtures of distance-based models for ranking data, Computational Statistics &
    Data Analysis 2003.

    Examples
    --------
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "b", "a"]] * 3)
    >>> with pm.Model(coords=rankings.coords | {"component": ["x", "y"]}) as model:
    ...     share = pm.Dirichlet("share", [2, 2], dims="component")
    ...     utility = pm.ZeroSumNormal("utility", 2, dims=("component", "item"))
    ...     y = br.Mixture("y", share, br.PlackettLuce.dist(utility), observed=rankings)
    >>> found = br.fit_mixture(n_starts=3, random_seed=1, model=model)
    >>> found.share.round(1).values.tolist()
    [0.7, 0.3]
    >>> with model:  # doctest: +SKIP
    ...     posterior = br.relabel_components(pm.sample(initvals=found.initvals), found.mode)
    """
    model = check_coords(pm.modelcontext(model))
    if n_starts < 1:
        raise ValueError(f"`n_starts` is {n_starts}; it must be 1 or more.")
    mixture = _mixture(model, var_name)
    n_units, n_components = len(mixture.scores), mixture.components.size
    if n_components > n_units:
        raise ValueError(
            f"{var_name!r} has {n_components} components but only {n_units} {mixture.rows}s. Use "
            "fewer components."
        )
    em = _compile(model, var_name, mode)
    rng = np.random.default_rng(random_seed)
    starts = [_memberships(mixture.scores, n_components, rng) for _ in range(n_starts)]
    ends = [em.climb(responsibilities, mixture.scores) for responsibilities in starts]
    heights = np.array([em.e_step(x)[0] for x in ends])
    order = np.argsort(-heights, kind="stable")
    x, heights = ends[order[0]], heights[order]
    _, _, log_likelihood, responsibilities = em.e_step(x)

    point = DictToArrayBijection.rmap(em.start._replace(data=x))
    tree = constrained(model, em.start, x[None])
    found = MixtureFit(
        mode=tree,
        initvals={rv.name: tree["posterior"][rv.name].to_numpy()[0, 0] for rv in model.free_RVs},
        point=point,
        log_posterior=heights,
        n_reached=int((heights > heights[0] - SAME).sum()),
        share=mixture.components.copy(data=responsibilities.sum(axis=0) / responsibilities.sum()),
        log_likelihood=float(log_likelihood),
        n_parameters=x.size - sum(orders.n_redundant for orders in em.orders),
        n_units=float(responsibilities.sum()),
    )
    for doubt in _doubts(found, mixture, var_name, em.missing(x)):
        warnings.warn(doubt, MixtureWarning, stacklevel=2)
    return found


def component_probabilities(
    data: xr.DataTree,
    *,
    var_name: str = "y",
    predicted: bool = False,
    model: pm.Model | None = None,
) -> Any:
    r"""Compute the probability that each ranker, or ranking, belongs to each component.

    .. math:: P(\text{u belongs to component g} \mid y) = \frac1S \sum_s
              \frac{\pi_g^{(s)} P_g(y_u \mid \theta^{(s)})}
                   {\sum_h \pi_h^{(s)} P_h(y_u \mid \theta^{(s)})}

    where s runs over the S posterior draws. The weight of component g is :math:`\pi_g`, and
    :math:`P_g` is its distribution of rankings with the parameters :math:`\theta`.

    Parameters
    ----------
    data : DataTree
        The posterior of the model, relabelled by `bayesrank.relabel_components`, or a mode.
    var_name : str
        Name of the mixture.
    predicted : bool
        Whether to return probabilities of every draw, for the observed rankings and for the
        rankings in the group ``posterior_predictive``. `bayesrank.component_checks` compares the
        two.
    model : pm.Model, optional
        A model with a `Mixture` that observes `Rankings`. By default, the model of the context.

    Returns
    -------
    DataArray, (n_units, n_components)
        Its dims are the dim of the units (ranker or ranking) and the dim of the components; every
        row sums to one. With `predicted`, a Dataset with the variables ``observed`` and
        ``predicted``, which also have the dims chain and draw.

    Raises
    ------
    ValueError
        If the model has no such mixture, or the posterior lacks a variable of the model.

    See Also
    --------
    plot_components, fit_mixture, relabel_components

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br, pymc as pm
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "b", "a"]] * 3)
    >>> with pm.Model(coords=rankings.coords | {"component": ["x", "y"]}) as model:
    ...     share = pm.Dirichlet("share", [2, 2], dims="component")
    ...     utility = pm.ZeroSumNormal("utility", 2, dims=("component", "item"))
    ...     y = br.Mixture("y", share, br.PlackettLuce.dist(utility), observed=rankings)
    >>> draws = xr.Dataset({
    ...     "share": (("chain", "draw", "component"), [[[0.7, 0.3]]]),
    ...     "utility": (("chain", "draw", "component", "item"), [[[[3, 0, -3], [-3, 0, 3]]]]),
    ... }, coords={"component": ["x", "y"], "item": ["a", "b", "c"]})
    >>> idata = xr.DataTree.from_dict({"posterior": draws})
    >>> probability = br.component_probabilities(idata, model=model)
    >>> "".join(probability.idxmax("component").values)
    'xxxxxxxyyy'
    """
    model = check_coords(pm.modelcontext(model))
    mixture = _mixture(model, var_name)
    posterior = data["posterior"].dataset
    missing = [rv.name for rv in model.free_RVs if rv.name not in posterior]
    if missing:
        raise ValueError(
            f"The posterior has no {missing[0]!r}, a variable of the model; it has "
            f"{sorted(map(str, posterior))}."
        )
    posterior = in_model_order(posterior, [rv.name for rv in model.free_RVs], model)
    (component,) = mixture.components.dims
    dims = (mixture.rows, component)
    coords = {
        mixture.rows: np.asarray(model.coords[mixture.rows]),
        component: mixture.components[component],
    }
    if predicted:
        new = _predicted(data, posterior, model, var_name)
        posterior = posterior.sel(chain=new["chain"], draw=new["draw"])
    shape = (posterior.sizes["chain"], posterior.sizes["draw"])

    def by_draw(value: Any = None) -> Iterator[Floats]:
        probabilities = at_draws(
            model, var_name, lambda terms: component_probs(joint_logp(terms)), value=value
        )
        return probabilities(posterior)

    if not predicted:
        share = np.asarray(sum(by_draw())) / np.prod(shape)
        return xr.DataArray(share, dims=dims, coords=coords, name="probability")
    both = {"observed": np.stack([*by_draw()]), "predicted": np.stack([*by_draw(new)])}
    coords |= {dim: new[dim] for dim in ("chain", "draw")}
    arrays = {
        name: (("chain", "draw", *dims), x.reshape(*shape, *x.shape[1:]))
        for name, x in both.items()
    }
    return xr.Dataset(arrays, coords=coords)


def _predicted(data: xr.DataTree, posterior: xr.Dataset, model: pm.Model, var_name: str) -> Any:
    """Find predicted rankings, (chain, draw, ...); raise unless the posterior has their draws."""
    groups = data.children
    name = model.name_for(var_name)
    if "posterior_predictive" not in groups or name not in groups["posterior_predictive"].dataset:
        raise ValueError(
            f"The data have no predictions of {var_name!r}. Within the model, call "
            "pm.sample_posterior_predictive(posterior, extend_inferencedata=True)."
        )
    new = in_model_order(groups["posterior_predictive"].dataset, [name], model)[name]
    for dim in ("chain", "draw"):
        if not set(new[dim].to_numpy()) <= set(posterior[dim].to_numpy()):
            raise ValueError(
                f"The predictions of {var_name!r} come from draws that the posterior does not "
                "have. Predict from this posterior."
            )
    return new


# ---------------------------------------------------------------------------------------------
# The mixture in a model
# ---------------------------------------------------------------------------------------------


class _Mixture(NamedTuple):
    rows: str  # dim of the units
    components: xr.DataArray  # with their dim and labels
    scores: Floats  # (n_units, n_items) mean place of the items, from 1 (first) to -1 (last)


def _mixture(model: pm.Model, var_name: str) -> _Mixture:
    """Find a mixture, and the mean places of the items by unit."""
    name = model.name_for(var_name)
    kept = kept_of(model, name)
    if COMPONENTS not in kept:
        known = sorted(rv.name for rv in model.observed_RVs)
        raise ValueError(
            f"The model has no Mixture named {var_name!r} that observes Rankings; it observes "
            f"{known}. Name the mixture in `var_name`."
        )
    share = xr.zeros_like(kept[COMPONENTS], dtype=float).rename("share")
    rows = model.named_vars_to_dims[name][0]

    item, ranks = (kept[part].to_numpy() for part in (ITEM, RANKS))
    used, n = ranks > 0, (ranks > 0).sum(axis=1, keepdims=True)
    # number of items above minus number of items below, without ties
    above = (ranks[:, :, None] > ranks[:, None, :]) & used[:, None, :]
    below = (ranks[:, :, None] < ranks[:, None, :]) & used[:, None, :]
    score = (below.sum(axis=2) - above.sum(axis=2)) / np.maximum(n - 1, 1)
    unit = kept[RANKER].to_numpy() if kept.is_by_ranker else np.arange(len(ranks))
    n_units = len(model.coords[rows])
    total = np.zeros((n_units, int(item.max()) + 1))
    np.add.at(total, (np.broadcast_to(unit[:, None], item.shape)[used], item[used]), score[used])
    often = np.bincount(unit, minlength=n_units)
    return _Mixture(rows, share, total / np.maximum(often, 1)[:, None])


def _memberships(scores: Floats, n_components: int, rng: np.random.Generator) -> Floats:
    """Draw initial memberships: each unit belongs to the nearest of several distant centres."""
    n_units = len(scores)
    centre = scores[rng.integers(n_units)]
    distance = np.empty((n_units, n_components))
    for g in range(n_components):
        distance[:, g] = ((scores - centre) ** 2).sum(axis=1)
        far = distance[:, : g + 1].min(axis=1)
        chance = far / far.sum() if far.sum() > 0 else None
        centre = scores[rng.choice(n_units, p=chance)]
    distance += 1e-9 * rng.random(distance.shape)  # break ties at random
    out = np.full((n_units, n_components), (1 - NEAREST) / n_components)
    out[np.arange(n_units), distance.argmin(axis=1)] += NEAREST
    return out


# ---------------------------------------------------------------------------------------------
# EM
# ---------------------------------------------------------------------------------------------


class _Orders(NamedTuple):
    """A consensus by row: its slice of the ravelled free variables, and its mixture."""

    where: slice
    shape: tuple[int, ...]
    components: MixtureData
    alpha: Any  # x -> concentrations of the rows

    @property
    def n_redundant(self) -> int:
        """Number of entries fixed by constraints: all but one per row."""
        return (self.where.stop - self.where.start) // self.shape[-1] * (self.shape[-1] - 1)

    def start(self, x: Floats, responsibilities: Floats, scores: Floats) -> None:
        """Start with the items in the order of their mean places in each component."""
        ranks = self._ranks(x)
        for row, component, *_ in self.components.rows:
            score = np.zeros(self.shape[-1])  # includes items after the last ranked one
            score[: scores.shape[1]] = responsibilities[:, component] @ scores
            ranks[row, np.argsort(-score, kind="stable")] = np.arange(1, len(score) + 1)
        x[self.where] = ranks.ravel()

    def climb(self, x: Floats, responsibilities: Floats) -> None:
        """Replace each consensus by the best order for the members of its component."""
        ranks = self._ranks(x)
        for conditional in self.components.weighted(responsibilities, np.asarray(self.alpha(x))):
            conditional.climb(ranks[conditional.row])
        x[self.where] = ranks.ravel()

    def exchange(self, x: Floats, height: Callable[[Floats], float]) -> bool:
        """Exchange neighbours in an order wherever this gains, and return whether any did."""
        ranks, best, gained = self._ranks(x), height(x), False
        for row in ranks:
            order = np.argsort(row)
            for place in range(len(order) - 1):
                both = order[place : place + 2].copy()
                row[both] = row[both[::-1]]
                x[self.where] = ranks.ravel()
                now = height(x)
                if now > best + SAME / 10:
                    best, gained = now, True
                    order[place : place + 2] = both[::-1]
                else:
                    row[both] = row[both[::-1]]
        x[self.where] = ranks.ravel()
        return gained

    def _ranks(self, x: Floats) -> Any:
        return x[self.where].reshape(-1, self.shape[-1]).astype(np.int64)


class _EM(NamedTuple):
    """The two steps, compiled as one function of the ravelled free variables, (n,).

    Ranks among them have gradient zero, so L-BFGS does not change them.
    """

    start: Any  # RaveledVars
    both: Any  # memberships, whether to use memberships at x instead, x -> both steps' results
    orders: list[_Orders]
    nobody: Floats  # memberships of zero

    def e_step(self, x: Floats) -> tuple[Any, Floats, Any, Floats]:
        """Return the log posterior, its gradient, the log-likelihood and weighted memberships."""
        height, _, slope, log_likelihood, responsibilities = self.both(self.nobody, True, x)
        return height, slope, log_likelihood, responsibilities

    def m_step(self, responsibilities: Floats, x: Floats) -> tuple[Any, Floats]:
        """Return Q of these memberships, and its gradient."""
        _, q, slope, _, _ = self.both(responsibilities, False, x)
        return q, slope

    def climb(self, responsibilities: Floats, scores: Floats) -> Floats:
        """Climb to a mode from memberships and the items' mean places."""
        x = self.start.data.copy()
        for orders in self.orders:
            orders.start(x, responsibilities, scores)
        x = self.from_memberships(x, responsibilities, 10 * M_STEPS)
        height = -np.inf
        for _ in range(EM_STEPS):
            before = height
            height, _, _, responsibilities = self.e_step(x)
            if not height - before > GAIN * len(responsibilities):
                break
            x = self.from_memberships(x, responsibilities, M_STEPS)
        for _ in range(EM_STEPS if self.orders else RESTARTS):
            before, _, _, responsibilities = self.e_step(x)
            for orders in self.orders:
                orders.climb(x, responsibilities)
            x = climb(self.height, x, least_gain=1e-11, tolerance=np.inf)
            exchanged = [
                orders.exchange(x, lambda x: float(self.height(x)[0])) for orders in self.orders
            ]
            if not any(exchanged) and not self.height(x)[0] - before > SAME / 10:
                break
        return x

    def from_memberships(self, x: Floats, responsibilities: Floats, n_steps: int) -> Floats:
        """Take an M-step."""
        for orders in self.orders:
            orders.climb(x, responsibilities)
        step = functools.partial(self.m_step, responsibilities)
        return climb(step, x, max_iterations=n_steps, tolerance=np.inf)

    def height(self, x: Floats) -> tuple[Any, Floats]:
        """Return the log posterior and its gradient."""
        value, slope, _, _ = self.e_step(x)
        return value, slope

    def missing(self, x: Floats) -> float:
        """Compute how much L-BFGS still gains from the end of a search.

        The curvature does not show this: the weight of an empty component decreases for ever in a
        flat region of the density.
        """
        after = climb(self.height, x, max_iterations=FURTHER, least_gain=0.0, tolerance=np.inf)
        return float(self.height(after)[0] - self.height(x)[0])


def _compile(model: pm.Model, var_name: str, mode: str | None) -> _EM:
    """Compile Q and the log posterior of the variables on their original scale."""
    y = model[model.name_for(var_name)]
    discrete = [rv for rv in model.free_RVs if rv.dtype.startswith(("int", "uint", "bool"))]
    dependent = [(rv, _consensus_data(model, rv, y)) for rv in discrete]
    others = [rv for rv in model.basic_RVs if rv is not y]
    (terms,) = model.logp(vars=[y], sum=False, jacobian=False)
    prior = model.logp(vars=[*others, *model.potentials], jacobian=False)
    joint = joint_logp(terms)
    given, at_x = pt.dmatrix("members"), pt.bscalar("at_x")
    log_likelihood = pt.sum(terms)
    weighted = pytensor.grad(log_likelihood, joint)  # memberships, times evidence weights
    # with the memberships at x, the gradients of Q and of the log posterior are equal
    responsibilities = stop_gradient(pt.switch(at_x, weighted, given))

    point = model.initial_point()
    alphas = [pt.concatenate([x.ravel() for x in data.graphs[1:]]) for _, data in dependent]
    outputs = [prior + log_likelihood, prior + _expected(responsibilities, joint)]
    outputs += [log_likelihood, weighted, *model.replace_rvs_by_values(alphas)]
    outputs, joined = join_nonshared_inputs(point, outputs, model.value_vars)
    x = pt.dvector("x")  # float, also if all variables are ranks
    outputs = clone_replace(outputs, {joined: pt.cast(x, joined.dtype)}, rebuild_strict=False)
    height, q, log_likelihood, weighted, *alphas = outputs
    found = [height, q, pytensor.grad(q, x), log_likelihood, weighted]
    both = pytensor.function([given, at_x, x], found, mode=mode)
    order = [value.name for value in model.value_vars]
    start = DictToArrayBijection.map({name: point[name] for name in order})

    orders, first = [], 0
    for name in order:
        size, shape = point[name].size, point[name].shape
        for (rv, data), alpha in zip(dependent, alphas, strict=True):
            if model.rvs_to_values[rv].name == name:
                found = pytensor.function([x], alpha, mode=SMALL, on_unused_input="ignore")
                orders.append(_Orders(slice(first, first + size), shape, data, found))
        first += size
    rows = model.named_vars_to_dims[y.name][0]
    n_components = kept_of(model, y.name)[COMPONENTS].size
    nobody = np.zeros((len(model.coords[rows]), n_components))
    return _EM(start._replace(data=start.data.astype(np.float64)), both, orders, nobody)


def _consensus_data(model: pm.Model, rv: Any, y: Any) -> MixtureData:
    """Find the mixture of a discrete variable; raise unless it is a consensus of the mixture."""
    found = depending(model, rv) if rv.ndim else None
    if isinstance(found, MixtureData):
        return found
    raise ValueError(
        f"{rv.name!r} is discrete, but EM needs gradients. The only exception is a consensus of "
        f"the Mallows components of {y.name!r}: one per component, with a uniform prior over "
        "orders. Marginalise the variable, or fix it."
    )


def _expected(responsibilities: Any, joint: Any) -> Any:
    """Sum the log-likelihood weighted by memberships; memberships of zero contribute nothing."""
    positive = responsibilities > 0
    return pt.sum(pt.switch(positive, responsibilities * pt.switch(positive, joint, 0.0), 0.0))


def _doubts(found: MixtureFit, mixture: _Mixture, var_name: str, missing: float) -> Iterator[str]:
    """Yield reasons to doubt the best mode."""
    n_starts, rows = len(found.log_posterior), mixture.rows
    if (mixture.scores == mixture.scores[0]).all() and found.share.size > 1:
        yield (
            f"All {len(mixture.scores)} {rows}s of {var_name!r} are equal, so only the prior "
            "separates the components."
        )
    if n_starts > 1 and found.n_reached == 1:
        yield (
            f"Only 1 of {n_starts} starts reached the best mode of {var_name!r}, so there may be "
            "better modes. Increase n_starts."
        )
    expected = found.share.to_numpy() * found.n_units
    if (expected < EMPTY).any():
        g = int(expected.argmin())
        label = found.share[found.share.dims[0]].to_numpy().tolist()[g]
        yield (
            f"Component {label!r} of {var_name!r} is empty at the best mode: {expected[g]:.2g} of "
            f"{found.n_units:g} {rows}s are expected to belong to it. Use fewer components."
        )
    if missing > SAME:
        yield (
            f"The search for the best mode of {var_name!r} did not converge: the log posterior is "
            f"{missing:.2g} higher a few steps on. Use more informative priors."
        )
