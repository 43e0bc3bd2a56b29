r"""Dynamic models: the posterior of utilities over time, from dated data.

An item has a utility at every time at which it is observed. Utilities follow a dynamics, a Gaussian
process such as a random walk (`bayesrank.utility.Dynamics`). An observation depends on the
utilities at its time:

.. math:: u_i(\cdot) \sim \text{dynamics}, \qquad
          y_k \sim \text{Davidson}\bigl(u_{i_k}(t_k) - u_{j_k}(t_k) + \delta, \nu\bigr)

Given the hyperparameters of the dynamics, `fit_dynamic` finds the mode of all utilities by Newton's
method. The posterior is skewed if the better item wins most matches. The nearest normal, not the
normal around the mode, therefore approximates it (`bayesrank.inference.dynamic.chains`). In small
data, a few steps of slice sampling make draws exact, given the hyperparameters.

The hyperparameters have a weak prior with heavy tails (`Dynamics.log_prior`). Their mode follows
from Laplace's approximation of the evidence, and weighted nodes lie around it
(`approximation.nodes`). The weight of a node is the evidence, corrected by draws, times the prior.
Draws and predictions come from the mixture over 8 to 64 nodes. One node is enough if all
hyperparameters are fixed or well determined.

Time and memory are linear in the number of matches (of rankings, in their squared lengths), and in
the number of observation times of items. Predictions take time proportional to the number of nodes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.special import gammaln

from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import (
    are_dates,
    are_instants,
    check_whole,
    counted,
    float_array,
    label_repr,
    label_times,
    locate,
    per_row,
    plain_index,
    quoted,
    time_coordinates,
)
from bayesrank.distributions import BradleyTerry, Davidson, PlackettLuce, RaoKupper
from bayesrank.inference.approximation.modes import data_groups, fixed_seed
from bayesrank.inference.approximation.nodes import (
    KNOWN,
    NODES,
    curvature_of,
    node_of_draws,
    weighted_nodes,
)
from bayesrank.inference.dynamic.chains import (
    Chains,
    Information,
    NormalStates,
    beyond_normal,
    covariance_root,
    exact_draws,
    find_mode,
    log_evidence,
    nearest_normal,
    posterior_draws,
    row_moments,
)
from bayesrank.inference.dynamic.observations import (
    ORDER,
    TIES,
    Observations,
    observations_of,
)
from bayesrank.match_outcomes import outcome_probabilities
from bayesrank.utility.dynamics import Dynamics

__all__ = ["DynamicFit", "fit_dynamic"]

Floats = NDArray[np.float64]

RANKINGS_OF = "plackett_luce"
FAMILIES: dict[str, Any] = {
    "bradley_terry": BradleyTerry,
    "davidson": Davidson,
    "rao_kupper": RaoKupper,
    RANKINGS_OF: PlackettLuce,
}
NEAR = 0.03  # tolerance of the mode of the log hyperparameters, far below their uncertainty
MOST_TRIED = 100  # evaluations in the search for the hyperparameters' mode
LEAST_BEND = 0.5  # smallest curvature assumed at the mode, about the prior's curvature
EXPECTED = 20  # evaluations per hyperparameter that a search rarely exceeds
POINTS = 21  # points of the quadrature over the lead of a match, and over ties


def fit_dynamic(
    data: Pairs | Rankings,
    *,
    time: str,
    dynamics: str = "random_walk",
    likelihood: str | None = None,
    hyperparameters: Mapping[str, float] | pd.DataFrame | None = None,
    unit: str = "year",
    order_effect: bool = True,
    covariates: Mapping[str, ArrayLike] | None = None,
    watch: Callable[[int, int], None] | None = None,
    random_seed: int | None = None,
) -> "DynamicFit":
    """Fit utilities that change with time.

    Parameters
    ----------
    data : Pairs or Rankings
        Data grouped by time, from `Pairs.from_frame` with ``by=`` or from `Rankings.grouped`. All
        rows with the same label, such as a day, have the same time. Of grades, and of votes that
        both items are bad, only who won counts.
    time : str
        The group whose labels are dates or numbers. Numbers are used as times.
    dynamics : str
        How utilities change: "constant", "random_walk", "trend", "matern12", "matern32",
        "matern52", or a sum such as "constant + matern32". A trend is a random walk whose slope is
        a random walk. The last three are Matérn processes.
    likelihood : str, optional
        For pairs, "davidson", "rao_kupper" or "bradley_terry"; by default, "davidson" if there are
        ties and "bradley_terry" otherwise. For rankings, "plackett_luce".
    hyperparameters : mapping of str to float, or DataFrame, optional
        Fixed values of hyperparameters of the dynamics, positive. Others are learned. The names
        are scale (the standard deviation of utilities, in walks at the start), drift, slope,
        slope_drift and length. In a sum they begin with the name of the part, such as
        "matern32_length". The table `DynamicFit.nodes` of an earlier fit repeats that fit without
        learning.
    unit : str
        Unit of time for dates: "year", "week", "day", "hour" or "second". Lengths are in this unit,
        and drifts are per square root of the unit.
    order_effect : bool
        Whether the first item of a pair may have an advantage, with the prior Normal(0, 0.5).
    covariates : mapping of str to array, optional
        Covariates of the lead of the first item, (n_pairs,), or of the utility in every slot,
        (n_rankings, n_slots). Each has a coefficient with the prior Normal(0, 1). With
        ``order_effect=False`` the covariate ``order_effect`` of pairs has the prior of the order
        effect: 0 for matches on neutral ground, 1 for others.
    watch : callable, optional
        A function that reports progress. It is called with two numbers of evaluations of the
        hyperparameters: those so far, and the largest number expected.
    random_seed : int, optional
        Seed of the random numbers that estimate the evidence.

    Returns
    -------
    DynamicFit

    Raises
    ------
    ValueError
        If labels are not times, or a name is unknown. If an item is in two matches at the same
        instant (a time with hours). If the data have ties but the likelihood has none, a
        hyperparameter is not positive, or a covariate has the wrong shape or name.

    See Also
    --------
    DynamicFit, forward_validation, dynamic_model, plot_dynamic, utility.random_walk

    Notes
    -----
    The utility of an item starts when the item is first observed. It then has the initial
    distribution of the dynamics, with mean 0.

    The posterior averages over all hyperparameters that are not fixed. Their prior has heavy tails
    (`bayesrank.utility.dynamics`). Given the hyperparameters, the normal nearest to the posterior
    replaces it. In small data, `DynamicFit.draws` corrects its shape by slice sampling. Data are
    small if the items, the times at which each is observed, and the dynamics need at most 256
    numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> table = pd.DataFrame({"home": [*"abab"], "away": [*"baba"], "won": ["first"] * 4})
    >>> table["day"] = ["2024-01-01", "2024-02-01", "2024-06-01", "2024-09-01"]
    >>> pairs = br.Pairs.from_frame(table, first="home", second="away", outcome="won", by="day")
    >>> fit = br.fit_dynamic(pairs, time="day", dynamics="random_walk", random_seed=1)
    >>> fit.predict(["a"], ["b"], at="2024-10-01")["p_first"].item() > 0.5
    True
    """
    problem = Problem.read(data, time, unit, likelihood, order_effect, covariates or {})
    given = {} if hyperparameters is None else hyperparameters
    return learned(problem, Dynamics(dynamics), given, fixed_seed(random_seed), watch)


@dataclass(frozen=True)
class Problem:
    """The observed data, with times as numbers."""

    data: Pairs | Rankings
    group: str
    unit: str
    times: Floats  # times of the labels of the group
    likelihood: str
    order_effect: bool
    covariates: Mapping[str, Floats]

    @classmethod
    def read(
        cls,
        data: Pairs | Rankings,
        group: str,
        unit: str,
        likelihood: str | None,
        order_effect: bool,
        covariates: Mapping[str, ArrayLike],
    ) -> "Problem":
        if not isinstance(data, Pairs | Rankings):
            raise TypeError(f"Expected Pairs or Rankings; got {type(data).__name__}.")
        if group not in data.groups:
            raise ValueError(
                f"`time` is {group!r}; the data are grouped by {quoted(data.groups) or 'nothing'}. "
                "Name the column of times in `by` of from_frame, or add it with Rankings.grouped."
            )
        times = label_times(data.groups[group].labels, group, unit)
        likelihood = _checked_likelihood(likelihood, data)
        row = "pair" if isinstance(data, Pairs) else "ranking"
        shape = (data.n_pairs,) if isinstance(data, Pairs) else data.ranks.shape
        read = {}
        if order_effect and ORDER.name in covariates:
            raise ValueError(
                f"The covariate {ORDER.name!r} replaces the order effect; set order_effect=False."
            )
        tie = TIES.get(likelihood)
        taken = {"utility", "chain", "draw", "item", group, tie.name if tie else ""}
        for name, values in covariates.items():
            if name in taken:
                raise ValueError(
                    f"The results have another variable or dim {name!r}. Give the covariate "
                    "another name."
                )
            x = read[name] = float_array(per_row(values, {row: data.labels}, name), name)
            if x.shape != shape or not np.isfinite(x).all():
                raise ValueError(
                    f"The covariate {name!r} must be finite numbers of shape {shape}; its shape is "
                    f"{x.shape}."
                )
        problem = cls(data, group, unit, times, likelihood, order_effect, read)
        problem._refuse_two_at_once()
        return problem

    def _refuse_two_at_once(self) -> None:
        """Raise if an item is in two matches at one instant; two matches on one day are fine."""
        data = self.data
        labels = data.groups[self.group].labels
        if not isinstance(data, Pairs) or not are_instants(labels, self.group):
            return
        when = np.tile(data.groups[self.group].idx, 2)
        other = np.concatenate([data.second, data.first])
        seen = pd.DataFrame({"item": np.concatenate([data.first, data.second]), "when": when})
        met = seen.assign(other=other).drop_duplicates()
        twice = met[met.duplicated(["item", "when"])]
        if len(twice):
            item, at = data.items[twice["item"].iloc[0]], labels[twice["when"].iloc[0]]
            raise ValueError(
                f"Item {label_repr(item)} is in two matches at {at}, against different items. "
                "Correct the time, or use days as times: an item may play several matches a day."
            )

    @property
    def time(self) -> Floats:
        """Time of every pair or ranking."""
        return self.times[self.data.groups[self.group].idx]

    def observations(self, also: tuple[Any, Floats] | None = None) -> Observations:
        """Build the design matrix, with nodes for further items and times."""
        return observations_of(
            self.data, self.time, self.likelihood, order_effect=self.order_effect,
            covariates=self.covariates, also=also,
        )  # fmt: skip

    def read_times(self, at: Any) -> tuple[Floats, pd.Index]:
        """Read one time or several, by default the last one; return numbers and labels."""
        if at is None:
            group = self.data.groups[self.group]
            at = group.labels[group.idx[np.argmax(self.time)]]
        labels = plain_index([at] if _is_one(at) else at, "at")
        if labels.hasnans:
            raise ValueError(f"`at` has a missing time at position {labels.isna().argmax()}.")
        distinct, code = np.unique(labels, return_inverse=True)
        asked, known = plain_index(distinct), self.data.groups[self.group].labels
        place = known.get_indexer(asked)
        if (place >= 0).all():
            return self.times[place][code], labels
        if len(asked) and are_dates(asked) != are_dates(known):
            kinds = ("a date", "numbers") if are_dates(asked) else ("a number", "dates")
            raise ValueError(
                f"The time {label_repr(asked[0])} is {kinds[0]}, but the times of the data are "
                f"{kinds[1]}, such as {label_repr(known[0])}. Write it in the same way."
            )
        return label_times(asked, self.group, self.unit)[code], labels

    def check_covariates(self, names: Iterable[str]) -> None:
        """Raise unless these are the names of the covariates."""
        if set(names) != set(self.covariates):
            raise ValueError(
                f"Expected the covariates of the data, {quoted(self.covariates) or 'none'}; got "
                f"{quoted(names) or 'none'}."
            )


def _is_one(at: Any) -> bool:
    """Return whether this is one time and not a sequence."""
    return at is None or isinstance(at, str) or np.ndim(at) == 0


def _checked_likelihood(likelihood: str | None, data: Pairs | Rankings) -> str:
    """Return the likelihood or its default; raise if it does not suit the data."""
    if isinstance(data, Rankings):
        rows, possible, default, ties = "rankings", [RANKINGS_OF], RANKINGS_OF, False
    else:
        ties = bool(data.counts[:, 2].any())
        rows, possible, default = "pairs", [*TIES], "davidson" if ties else "bradley_terry"
    likelihood = likelihood or default
    if likelihood not in possible:
        raise ValueError(
            f"`likelihood` for {rows} is {likelihood!r}; it must be one of {quoted(possible)}."
        )
    if ties and likelihood == "bradley_terry":
        raise ValueError(
            "The pairs have ties, but bradley_terry allows none. Use davidson or rao_kupper, or "
            "pass pairs.split_ties()."
        )
    return likelihood


def _check_hyperparameters(given: Mapping[str, Any], dynamics: Dynamics) -> None:
    for name, value in given.items():
        if name not in dynamics.names:
            raise ValueError(
                f"The dynamics {dynamics.text!r} has no hyperparameter {name!r}; it has "
                f"{', '.join(dynamics.names)}."
            )
        if isinstance(value, str) or not 0 < value < np.inf:
            raise ValueError(
                f"The hyperparameter {name!r} is {value!r}; it must be positive and finite."
            )


class Node(NamedTuple):
    """Values of the hyperparameters, and the normal of the utilities given them."""

    values: Floats  # (n_hyperparameters,)
    log_marginal: float  # log density of the log hyperparameters, up to a constant
    dual: Floats  # of the normal
    curvature: Floats  # of the observations, averaged over the normal


def _node(values: Floats, normal: NormalStates, log_marginal: float = 0.0) -> Node:
    return Node(values, log_marginal, normal.dual, normal.information.curvature)


def learned(
    problem: Problem,
    dynamics: Dynamics,
    given: Mapping[str, float] | pd.DataFrame,
    random_seed: int,
    watch: Callable[[int, int], None] | None = None,
) -> "DynamicFit":
    """Find the posterior mode of the hyperparameters, and nodes around it.

    The log density of their logarithms is the log evidence plus the log prior. Fixed
    hyperparameters are the same in all nodes.
    """
    observations = problem.observations()
    if isinstance(given, pd.DataFrame):
        return _repeated(problem, dynamics, observations, given, random_seed)
    _check_hyperparameters(given, dynamics)
    span = float(np.ptp(observations.time)) or 1.0
    medians = dynamics.medians(span)
    start = np.log([given.get(name, m) for name, m in zip(dynamics.names, medians, strict=True)])
    free = np.array([name not in given for name in dynamics.names])
    last: Floats | None = None  # the dual of the last mode, from which the next search starts
    n_free, done = int(free.sum()), 0
    # the search, differences for the curvature, sides of the axes, and one round of nodes
    most = 1 + (n_free * (EXPECTED + (n_free + 7) // 2) + NODES.get(n_free, 32) if n_free else 0)

    def fit(part: Floats, dual: Floats | None) -> tuple[Floats, NormalStates]:
        nonlocal done
        if watch is not None:
            watch(done, max(most, done))
        done += 1
        x = start.copy()
        x[free] = part
        chains = Chains(observations.nodes, observations.common, dynamics, np.exp(x))
        return x, find_mode(chains, observations, dual)

    def evaluate(x: Floats, normal: NormalStates) -> float:
        return log_evidence(normal, random_seed=random_seed).value + dynamics.log_prior(x, span)

    def log_density(part: Floats) -> float:
        nonlocal last
        x, mode = fit(part, last)
        last = mode.dual
        return evaluate(x, mode)

    def node(part: Floats, near: Node | None) -> Node:
        x, mode = fit(part, last if near is None else near.dual)
        normal = nearest_normal(mode, random_seed=random_seed)
        value = evaluate(x, normal) + beyond_normal(normal, random_seed=random_seed)
        return _node(np.exp(x), normal, value)

    peak, top = start[free], 0.0
    if free.any():
        # COBYQA's quadratic model is robust to noise of a thousandth of a nat
        options = {"initial_tr_radius": 0.5, "final_tr_radius": NEAR, "maxfev": MOST_TRIED}
        found: Any = minimize(  # type: ignore[call-overload]
            lambda part: -log_density(part), peak, method="COBYQA", options=options
        )
        peak, top = found.x, -float(found.fun)
    x, mode = fit(peak, last)
    best = dict(zip(dynamics.names, np.exp(x).tolist(), strict=True))
    normal = nearest_normal(mode, random_seed=random_seed)
    one_node = (_node(np.exp(x), normal),)
    alone = DynamicFit(problem, dynamics, best, normal, one_node, np.zeros(1), random_seed)
    if not free.any():
        return alone
    last = mode.dual
    _, curvature = curvature_of(log_density, peak, top)
    bend, axes = np.linalg.eigh(curvature)
    covariance = (axes / np.maximum(bend, LEAST_BEND)) @ axes.T
    if np.diag(covariance).max() < KNOWN**2:
        return alone
    _, log_weight, nodes, _ = weighted_nodes(peak, covariance, top, log_density, node)
    return replace(alone, _nodes=tuple(nodes), _log_weight=log_weight)


def _repeated(
    problem: Problem,
    dynamics: Dynamics,
    observations: Observations,
    table: pd.DataFrame,
    random_seed: int,
) -> "DynamicFit":
    """Find the normals at the weighted nodes of an earlier fit."""
    names = list(dynamics.names)
    if {*table.columns} != {*names, "weight"}:
        raise ValueError(
            f"Expected a table with the columns {quoted([*names, 'weight'])}, as `nodes` of a fit; "
            f"it has {quoted(table.columns)}."
        )
    weight = table["weight"].to_numpy(dtype=float)
    if not (weight.size and (weight > 0).all() and np.isfinite(weight).all()):
        raise ValueError("The weights of the nodes must be positive and finite.")
    normals: list[NormalStates] = []
    for values in table[names].to_numpy(dtype=float):
        _check_hyperparameters(dict(zip(names, values.tolist(), strict=True)), dynamics)
        chains = Chains(observations.nodes, observations.common, dynamics, values)
        mode = find_mode(chains, observations, normals[-1].dual if normals else None)
        normals.append(nearest_normal(mode, random_seed=random_seed))
    nodes = [
        _node(values, normal)
        for values, normal in zip(table[names].to_numpy(dtype=float), normals, strict=True)
    ]
    top = int(weight.argmax())
    best = dict(zip(names, nodes[top].values.tolist(), strict=True))
    log_weight = np.log(weight / weight.sum())
    return DynamicFit(problem, dynamics, best, normals[top], tuple(nodes), log_weight, random_seed)


@dataclass(frozen=True, eq=False, repr=False)
class DynamicFit:
    """The posterior of utilities that change with time, which `fit_dynamic` returns.

    Attributes
    ----------
    dynamics : Dynamics
        The model of change, `bayesrank.utility.Dynamics`.
    hyperparameters : dict
        Hyperparameters of the dynamics: their mode, or the fixed values.
    normal : NormalStates
        The normal approximation of the utilities at all times at which items are observed, given
        these hyperparameters. Use `draws` for utilities by item and time.

    See Also
    --------
    fit_dynamic, forward_validation, plot_dynamic

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> table = pd.DataFrame({"x": [*"abab"], "y": [*"baba"], "year": [1, 2, 3, 4]})
    >>> table["won"] = "first"
    >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
    >>> given = {"scale": 1.0, "drift": 0.3}
    >>> fit = br.fit_dynamic(pairs, time="year", hyperparameters=given, random_seed=1)
    >>> fit
    DynamicFit: 2 items at 8 times in all, bradley_terry, random_walk (scale 1, drift 0.3)
    """

    _problem: Problem
    dynamics: Dynamics
    hyperparameters: dict[str, float]
    normal: NormalStates
    _nodes: tuple[Node, ...]
    _log_weight: Floats
    _seed: int

    @property
    def data(self) -> Pairs | Rankings:
        """The observed data."""
        return self._problem.data

    @property
    def likelihood(self) -> str:
        """The name of the likelihood."""
        return self._problem.likelihood

    @property
    def log_evidence(self) -> float:
        """The approximate log-probability of the data, given the hyperparameters.

        Outcomes are processed in the order of their times.
        """
        rough = log_evidence(self.normal, random_seed=self._seed).value
        return rough + beyond_normal(self.normal, random_seed=self._seed)

    @property
    def observations(self) -> Observations:
        """The observations and their design matrix."""
        return self.normal.information.observations

    @property
    def nodes(self) -> pd.DataFrame:
        """Table of values of the hyperparameters (nodes) and their weights.

        Draws and predictions average over the nodes.
        There is only one row if all hyperparameters are fixed or well determined.
        """
        table = pd.DataFrame([node.values for node in self._nodes], columns=self.dynamics.names)
        return table.rename_axis("node").assign(weight=np.exp(self._log_weight))

    def __repr__(self) -> str:
        """Describe the fit."""
        n_nodes = self.observations.nodes.item.size
        learned = ", ".join(f"{name} {value:.3g}" for name, value in self.hyperparameters.items())
        return (
            f"DynamicFit: {counted(self.data.n_items, 'item')} at {n_nodes} times in all, "
            f"{self.likelihood}, {self.dynamics.text} ({learned})"
        )

    def draws(
        self,
        at: Any = None,
        *,
        since: Any = None,
        draws: int = 250,
        chains: int = 4,
        random_seed: int | None = None,
        log_likelihood: bool = False,
        predictions: bool = False,
    ) -> xr.DataTree:
        """Draw utilities at one or more times, from the past, the present or the future.

        Parameters
        ----------
        at : date or number, or a sequence of them, optional
            One time or several; by default, the last time of the data.
        since : date or number, optional
            Leave out items last observed before this time.
        draws, chains : int
            Numbers of draws per chain and of chains. Draws are independent, so chains differ only
            by chance.
        random_seed : int, optional
            Seed of the draws.
        log_likelihood : bool
            Whether to add the log-likelihood of every pair or ranking, for `bayesrank.compare`.
            This keeps all utilities in memory: 8 bytes for each draw of every item at every time at
            which it is observed.
        predictions : bool
            Whether to simulate every pair or ranking at its time, for `bayesrank.ranking_checks`
            and `bayesrank.results.match_checks`. This also keeps all utilities in memory.

        Returns
        -------
        DataTree
            The group ``posterior`` holds ``utility`` (chain, draw, item), centred over the items in
            each draw, and the effects that are constant over time. If `at` is a sequence,
            ``utility`` also has the dim of the times. Items that enter after the last time are left
            out, and utilities before an item enters are NaN. The group ``sample_stats`` holds
            ``node``, the row of `nodes` that a draw comes from. ``hyperparameters`` holds `nodes`,
            and ``observed_data`` and ``constant_data`` hold the data.

        Raises
        ------
        ValueError
            If no item has entered at this time.

        See Also
        --------
        DynamicFit.predict, rank_summary, plot_dynamic

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": [*"abab"], "y": [*"baba"], "year": [1, 2, 3, 4]})
        >>> table["won"] = "first"
        >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
        >>> given = {"scale": 1.0, "drift": 0.3}
        >>> fit = br.fit_dynamic(pairs, time="year", hyperparameters=given, random_seed=1)
        >>> posterior = fit.draws(at=[4, 10], random_seed=1)
        >>> dict(posterior.posterior["utility"].sizes)
        {'chain': 4, 'draw': 250, 'year': 2, 'item': 2}
        >>> spread = posterior.posterior["utility"].sel(item="a").std(("chain", "draw"))
        >>> bool(spread.sel(year=10) > spread.sel(year=4))
        True
        """
        check_whole(draws=draws, chains=chains)
        p = self._problem
        times, labels = p.read_times(at)
        entry, last = self._seen()
        items = np.flatnonzero(entry <= times.max())
        if not len(items):
            latest = quoted(labels[[int(np.argmax(times))]])
            raise ValueError(f"No item has entered at {latest}; give a later `at`.")
        if since is not None:
            items = items[last[items] >= p.read_times(since)[0][0]]
        if not len(items):
            raise ValueError(
                f"No item was observed since {label_repr(since)}; give an earlier `since`."
            )
        item, when = np.repeat(items, len(times)), np.tile(times, len(items))
        entered = when >= entry[item]
        wider = p.observations((item[entered], when[entered]))
        places = wider.nodes.places(item[entered], when[entered])
        n_common = len(wider.common)
        keep: Any = np.append(places, wider.nodes.item.size + np.arange(n_common))
        whole = log_likelihood or predictions
        x, node = self._draw(wider, draws * chains, random_seed, slice(None) if whole else keep)
        kept = x[keep] if whole else x

        utility: Any = np.full((item.size, draws * chains), np.nan)
        utility[entered] = kept[: len(places)]
        utility = utility.reshape(len(items), len(times), -1).transpose(2, 1, 0)
        utility -= np.nanmean(utility, axis=2, keepdims=True)
        values = {"utility": utility[:, 0] if _is_one(at) else utility}
        for effect, drawn in zip(wider.common, kept[len(places) :], strict=True):
            values[effect.name] = effect.value(drawn + effect.mean)
        groups = {"posterior": values, "sample_stats": {"node": node}}
        coords = {"item": p.data.coords["item"][items], p.group: time_coordinates(labels, p.group)}
        out = az.from_dict(
            {
                group: {name: y.reshape(chains, draws, *y.shape[1:]) for name, y in some.items()}
                for group, some in groups.items()
            },
            coords={"item": coords["item"]} if _is_one(at) else coords,
            dims={"utility": ["item"] if _is_one(at) else [p.group, "item"]},
        )
        at_label = str(labels[0] if at is None else at)
        for group in ("posterior", "sample_stats"):
            out[group].attrs.update(
                inference_library="bayesrank", approximation="Laplace", at=at_label
            )
        observed = self._data_groups["observed_data"]["y"]
        more = {"hyperparameters": self.nodes.to_xarray(), **self._data_groups}

        def by_row(values: NDArray[Any]) -> xr.Dataset:
            dims = observed.dims[: values.ndim - 1]
            named = {dim: observed.coords[dim] for dim in dims if dim in observed.coords}
            values = values.reshape(chains, draws, *values.shape[1:])
            return xr.Dataset({"y": (("chain", "draw", *dims), values)}, coords=named)

        if log_likelihood:
            more["log_likelihood"] = by_row(self._log_likelihood(wider, x))
        if predictions:
            rng = np.random.default_rng(random_seed)
            more["posterior_predictive"] = by_row(self._predictions(wider, x, rng))
        out.update({name: xr.DataTree(group) for name, group in more.items()})
        return out

    def _draw(
        self, wider: Observations, n_draws: int, random_seed: int | None, keep: Any
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Draw the unknowns in `keep` from the mixture, (n_kept, n_draws), with their nodes."""
        rng = np.random.default_rng(random_seed)
        node = node_of_draws(self._log_weight, n_draws, rng)
        found = np.empty((np.arange(wider.n)[keep].size, n_draws))
        for k, one in enumerate(self._nodes):
            mine = np.flatnonzero(node == k)
            if mine.size:
                normal = self._moved(one, wider)
                if normal.information.dense is None:
                    found[:, mine] = posterior_draws(normal, mine.size, rng, keep=keep)
                else:
                    x = posterior_draws(normal, mine.size, rng)
                    found[:, mine] = exact_draws(normal, x, rng)[keep]
        return found, node

    def _log_likelihood(self, o: Observations, x: Floats) -> Floats:
        """Compute the log-likelihood of every pair or ranking, (n_draws, n)."""
        data = self.data
        logp = np.stack([o.evaluate(o.rows(draw)).logp for draw in x.T])
        if isinstance(data, Pairs):  # the outcomes of a pair in any order
            n = data.counts
            logp += data.weight * (gammaln(n.sum(axis=1) + 1.0) - gammaln(n + 1.0).sum(axis=1))
        return logp

    def _predictions(self, o: Observations, x: Floats, rng: np.random.Generator) -> NDArray[Any]:
        """Simulate every pair or ranking, (n_draws, n, n_results or n_slots)."""
        data = self.data
        if isinstance(data, Rankings):
            return np.stack([_simulated_ranks(data, o.rows(draw), rng) for draw in x.T])
        n, rows = data.counts.sum(axis=1), np.diff(o.first_row)[0]
        out = []
        for draw in x.T:
            lead, *tie = o.rows(draw).reshape(-1, rows).T
            p = outcome_probabilities(lead, np.exp(tie[0]) if tie else 0.0, self.likelihood)
            out.append(rng.multinomial(n, p))
        return np.stack(out)

    @cached_property
    def _data_groups(self) -> dict[str, xr.Dataset]:
        """The observed data, as in the results of a model of PyMC."""
        data, tie = self.data, TIES.get(self.likelihood)
        any_tie = {} if tie is None else {tie.name: tie.value(0.0)}
        with pm.Model(coords=data.coords) as model:
            FAMILIES[self.likelihood]("y", np.zeros(data.n_items), observed=data, **any_tie)
        return data_groups(model)

    def with_data(
        self, data: Pairs | Rankings, *, covariates: Mapping[str, ArrayLike] | None = None
    ) -> "DynamicFit":
        """Condition on other data, such as data that include today, with the same hyperparameters.

        Nodes keep their weights. Each search starts from the previous mean, so one more day takes
        few steps.

        Parameters
        ----------
        data : Pairs or Rankings
            All current data, of the same type and grouped by the same times. They replace the
            earlier data, and may contain new items and new times.
        covariates : mapping of str to array, optional
            Values for all of the data, under the same names.

        Returns
        -------
        DynamicFit

        Raises
        ------
        ValueError
            For the reasons of `fit_dynamic`, or if covariates have other names.
        TypeError
            If the data have another type.

        See Also
        --------
        fit_dynamic, set_observed

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": [*"abab"], "y": [*"baba"], "year": [1, 2, 3, 4]})
        >>> table["won"] = "first"
        >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
        >>> given = {"scale": 1.0, "drift": 0.3}
        >>> fit = br.fit_dynamic(pairs, time="year", hyperparameters=given, random_seed=1)
        >>> today = pd.DataFrame({"x": ["a"], "y": ["b"], "year": [5], "won": ["first"]})
        >>> table = pd.concat([table, today])
        >>> later = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
        >>> updated = fit.with_data(later)
        >>> updated.hyperparameters == fit.hyperparameters
        True
        >>> before, after = (x.predict(["a"], ["b"], at=6)["p_first"] for x in [fit, updated])
        >>> bool(before[0] < after[0])
        True
        """
        p = self._problem
        if not isinstance(data, type(p.data)):
            raise TypeError(
                f"Expected {type(p.data).__name__}, as fitted; got {type(data).__name__}."
            )
        p.check_covariates(covariates or {})
        problem = Problem.read(
            data, p.group, p.unit, p.likelihood, p.order_effect, covariates or {}
        )
        o = problem.observations()
        item = data.items.get_indexer(p.data.items)

        def moved(values: Any, dual: Floats) -> NormalStates:
            chains = Chains(o.nodes, o.common, self.dynamics, values)
            mode = find_mode(chains, o, moved_dual(self.observations, dual, o, item))
            return nearest_normal(mode, random_seed=self._seed)

        normal = moved(list(self.hyperparameters.values()), self.normal.dual)
        nodes = [_node(node.values, moved(node.values, node.dual)) for node in self._nodes]
        return replace(self, _problem=problem, normal=normal, _nodes=tuple(nodes))

    def predict(
        self,
        first: Sequence[Any],
        second: Sequence[Any],
        *,
        at: Any = None,
        covariates: Mapping[str, ArrayLike] | None = None,
    ) -> pd.DataFrame:
        """Predict matches.

        Parameters
        ----------
        first, second : sequence of labels
            The items that meet.
        at : date or number, or a sequence of them, optional
            One time or several; by default, the last time of the data.
        covariates : mapping of str to array, (n,), optional
            Values of the covariates, for the same names as in the data.

        Returns
        -------
        DataFrame
            One row per match. Its columns are first, second, the time, p_first, p_second, p_tie (in
            models with ties), lead and lead_sd. The last two are the mean and standard deviation of
            the first item's lead. All are posterior averages. The posterior of an item is wider the
            longer the item was not observed.

        Raises
        ------
        ValueError
            If an item is unknown, the lengths differ, or the data are rankings. For rankings, use
            `draws` at the time, and `place_probability`.

        See Also
        --------
        DynamicFit.draws, match_probability

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": [*"abab"], "y": [*"baba"], "year": [1, 2, 3, 4]})
        >>> table["won"] = "first"
        >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="year")
        >>> given = {"scale": 1.0, "drift": 0.3}
        >>> fit = br.fit_dynamic(pairs, time="year", hyperparameters=given, random_seed=1)
        >>> found = fit.predict(["a", "a"], ["b", "b"], at=[4, 10])
        >>> found.columns.tolist()
        ['first', 'second', 'year', 'p_first', 'p_second', 'lead', 'lead_sd']
        >>> bool(found["lead_sd"][0] < found["lead_sd"][1])
        True
        """
        p = self._problem
        if not isinstance(p.data, Pairs):
            raise ValueError(
                "`predict` expects a fit of matches; the data are rankings. For probabilities of "
                "places, call br.place_probability(fit.draws(at=...))."
            )
        n = len(first)
        if len(second) != n:
            raise ValueError(
                f"`first` has {n} items, but `second` has {len(second)}; give equal lengths."
            )
        columns = [first, second, at, *(covariates or {}).values()]
        indexes = [x.index for x in columns if isinstance(x, pd.Series)]
        if not all(indexes[0].equals(index) for index in indexes):
            raise ValueError(
                "`first`, `second`, `at` and the covariates are Series with different indexes. "
                "Take them from one table, or give arrays in one order."
            )
        times, labels = p.read_times(at)
        if not _is_one(at) and len(labels) != n:
            raise ValueError(
                f"`at` has {len(labels)} times for {counted(n, 'match')}; give one for each."
            )
        one, other = (
            locate(plain_index(x, "items"), p.data.items, "item") for x in (first, second)
        )
        if (one == other).any():
            k = int((one == other).argmax())
            raise ValueError(
                f"Match {k} has {label_repr(p.data.items[one[k]])} on both sides; name two items."
            )
        ahead = _with_matches(p, one, other, np.broadcast_to(times, n), covariates or {})
        whole, old = ahead.observations(), p.data.n_pairs
        known, to_come = whole.head(old), whole.tail(old)
        moments = [row_moments(self._moved(node, known), to_come) for node in self._nodes]
        weight = np.exp(self._log_weight)
        table = pd.DataFrame(
            {"first": list(first), "second": list(second), p.group: np.broadcast_to(labels, n)}
        )
        probability = mixed_probabilities(moments, weight, p.likelihood)
        names = ["p_first", "p_second", "p_tie"][: probability.shape[1]]
        table[names] = probability
        table["lead"], table["lead_sd"] = _lead_moments(moments, weight)
        return table

    def few_nodes(self) -> tuple[list[Node], Floats]:
        """Return at most two nodes per hyperparameter, and their weights.

        The logarithms of their hyperparameters have the same mean and covariance as all nodes. At
        each, the search for the mode starts from the mode of the nearest node.
        """
        x, weight = np.log([node.values for node in self._nodes]), np.exp(self._log_weight)
        mean = weight @ x
        values, vectors = np.linalg.eigh(((x - mean).T * weight) @ (x - mean))
        free = values > 1e-9  # fixed hyperparameters do not vary
        n = int(free.sum())
        if len(self._nodes) <= max(1, 2 * n):
            return list(self._nodes), weight
        axes = (vectors[:, free] * np.sqrt(n * values[free])).T
        points = np.concatenate([mean + axes, mean - axes])
        nearest = ((points[:, None] - x) ** 2).sum(axis=2).argmin(axis=1)
        few = [
            self._nodes[k]._replace(values=np.exp(point))
            for k, point in zip(nearest, points, strict=True)
        ]
        return few, np.full(2 * n, 1 / (2 * n))

    def _seen(self) -> tuple[Floats, Floats]:
        """Return the first and last time of every item, infinite for items never observed."""
        nodes = self.observations.nodes
        first, last = np.full(self.data.n_items, np.inf), np.full(self.data.n_items, -np.inf)
        np.minimum.at(first, nodes.item, nodes.time)
        np.maximum.at(last, nodes.item, nodes.time)
        return first, last

    def _moved(self, node: Node, wider: Observations) -> NormalStates:
        """Extend the normal of a node to more times of items."""
        chains = Chains(wider.nodes, wider.common, self.dynamics, node.values)
        dual = moved_dual(self.observations, node.dual, wider)
        x = chains.covariance(dual[:, None])[:, 0]
        logp = float(wider.evaluate(wider.rows(x)).logp.sum())
        return NormalStates(x, dual, logp, Information(chains, wider, node.curvature))


def moved_dual(
    old: Observations, dual: Floats, other: Observations, item: NDArray[Any] | None = None
) -> Floats:
    """Map values at nodes to other nodes; new nodes get 0.

    If the items differ, `item` gives the new code of each old item, -1 for none.
    """
    out = np.zeros(other.n)
    n = old.nodes.item.size
    which = old.nodes.item if item is None else item[old.nodes.item]
    place = other.nodes.places(which, old.nodes.time)
    out[place[place >= 0]] = dual[:n][place >= 0]
    names = [effect.name for effect in other.common]
    for effect, value in zip(old.common, dual[n:], strict=True):
        if effect.name in names:
            out[other.nodes.item.size + names.index(effect.name)] = value
    return out


def _with_matches(
    p: Problem, first: Any, second: Any, times: Floats, covariates: Mapping[str, ArrayLike]
) -> Problem:
    """Add matches without an outcome, which carry no information."""
    pairs: Any = p.data
    n = len(first)
    p.check_covariates(covariates)
    read = {name: float_array(np.asarray(covariates[name]), name) for name in p.covariates}
    for name, x in read.items():
        if x.shape != (n,) or not np.isfinite(x).all():
            raise ValueError(
                f"The covariate {name!r} must be {counted(n, 'finite number')}, one for each "
                f"match; it is {label_repr(np.asarray(covariates[name]).tolist())}."
            )
    distinct, idx = np.unique(np.concatenate([p.time, times]), return_inverse=True)
    grown = pairs.with_counts(
        np.concatenate([pairs.counts, np.zeros((n, 3), dtype=np.int64)]),
        first=np.append(pairs.first, first).astype(np.int32),
        second=np.append(pairs.second, second).astype(np.int32),
        weight=np.append(pairs.weight, np.ones(n)),
        judge_idx=np.append(pairs.judge_idx, np.zeros(n, dtype=np.int32)),
        groups={p.group: type(pairs.groups[p.group])(pd.Index(distinct), idx.astype(np.int32))},
    )
    more = {name: np.append(x, read[name]) for name, x in p.covariates.items()}
    return replace(p, data=grown, times=distinct, covariates=more)


Moments = tuple[Floats, list[Floats]]  # moments of the rows of future matches, from `row_moments`


def _lead_moments(moments: Sequence[Moments], weight: Floats) -> tuple[Floats, Floats]:
    """Compute mean and standard deviation of the leads of matches over the nodes, (n,) each."""
    n = len(moments[0][1])
    lead = np.stack([mean.reshape(n, -1)[:, 0] if n else mean for mean, _ in moments])
    variance = np.array([[block[0, 0] for block in blocks] for _, blocks in moments])
    mean = weight @ lead
    return mean, np.sqrt(weight @ (variance + (lead - mean) ** 2))


def mixed_probabilities(moments: Sequence[Moments], weight: Floats, likelihood: str) -> Floats:
    """Average the probabilities of outcomes over the nodes, (n, 2) or (n, 3)."""
    by_node = [match_probabilities(mean, blocks, likelihood) for mean, blocks in moments]
    return np.tensordot(weight, np.stack(by_node), 1)


def match_probabilities(mean: Floats, covariance: Sequence[Floats], likelihood: str) -> Floats:
    """Average the probabilities of outcomes over normal leads and tie parameters, by quadrature.

    Parameters
    ----------
    mean : array, (n * rows,)
        Lead and, in models with ties, the tie parameter.
    covariance : sequence of array, (rows, rows)
    likelihood : str

    Returns
    -------
    array, (n, 2) or (n, 3)
        Probabilities of a first win, a second win and a tie.
    """
    n = len(covariance)
    if not n:
        return np.zeros((0, 3))
    points, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    weights = weights / weights.sum()
    root = covariance_root(np.stack(covariance))
    if likelihood == "bradley_terry":
        p = outcome_probabilities(mean[:, None] + root[:, 0] * points, model=likelihood)
        return p.transpose(0, 2, 1) @ weights
    z = np.stack(np.meshgrid(points, points), axis=-1).reshape(-1, 2)
    lead, tie = np.moveaxis(mean.reshape(n, 1, 2) + z @ root.transpose(0, 2, 1), -1, 0)
    p = outcome_probabilities(lead, np.exp(tie), likelihood)
    return p.transpose(0, 2, 1) @ np.outer(weights, weights).ravel()


def _simulated_ranks(rankings: Rankings, rows: Floats, rng: np.random.Generator) -> NDArray[Any]:
    """Draw the ranks of all rankings, given the block sizes, from utilities of their slots."""
    mask = rankings.mask
    score = np.full(mask.shape, -np.inf)
    score[mask] = rows + rng.gumbel(size=rows.size)
    place = (-score).argsort(axis=1, kind="stable").argsort(axis=1, kind="stable")
    ends = rankings.block_sizes.cumsum(axis=1)
    ranks = 1 + (place[:, :, None] >= ends[:, None, :]).sum(axis=2)
    return np.where(mask, ranks, 0)
