r"""Strengths that change: the posterior of utilities over time, from what has dates.

An item has a utility at every time at which it is seen. It changes as a dynamics says, a Gaussian
process such as a random walk (`bayesrank.utility.Dynamics`), and what is observed at a time depends
on the utilities at that time:

.. math:: u_i(\cdot) \sim \text{dynamics}, \qquad
          y_k \sim \text{Davidson}\bigl(u_{i_k}(t_k) - u_{j_k}(t_k) + \delta, \nu\bigr)

Given the hyperparameters of the dynamics, `history` finds the mode of all utilities by Newton's
method and takes the posterior for normal around it, all covariances included. The hyperparameters
have a weak prior (`Dynamics.log_prior`). Their mode is found by Laplace's approximation of the
evidence, and nodes are laid around it (`approximation.nodes`). A node has hyperparameters, a
mode, and a weight: the evidence, corrected by draws, times the prior. Draws and predictions are
those of the mixture over the nodes. With the best hyperparameters alone intervals would be too
narrow.

Time and memory are linear in the matches (in rankings, in their squared lengths) and in the times
at which items are seen. There are 8 to 64 nodes, or one where all hyperparameters are given or are
known well. Each takes one more search for a mode. A draw takes as long as from one node;
predictions take as long as from one node times the number of nodes. How all that goes:
`bayesrank.inference.dynamic.chains`.

>>> import bayesrank as br
>>> table = pd.DataFrame({"home": [*"abab"], "away": [*"baba"], "won": ["first"] * 4})
>>> table["day"] = ["2024-01-01", "2024-02-01", "2024-06-01", "2024-09-01"]
>>> pairs = br.Pairs.from_frame(table, first="home", second="away", outcome="won", by="day")
>>> fit = history(pairs, time="day", dynamics="random_walk")
>>> fit.predict(["a"], ["b"], at="2024-10-01")["p_first"].item() > 0.5
True
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from pymc.backends.arviz import coords_and_dims_for_inferencedata
from scipy.optimize import minimize
from scipy.special import gammaln, log_softmax

from bayesrank.data import Pairs, Rankings
from bayesrank.data.read import (
    are_instants,
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
from bayesrank.inference.approximation.modes import data_groups
from bayesrank.inference.approximation.nodes import (
    KNOWN,
    curvature_of,
    node_of_draws,
    weighted_nodes,
)
from bayesrank.inference.dynamic.chains import (
    Chains,
    Information,
    Mode,
    beyond_laplace,
    find_mode,
    log_evidence,
    posterior_draws,
    row_moments,
)
from bayesrank.inference.dynamic.observations import TIE_VALUE, TIES, Observations, observations_of
from bayesrank.utility.dynamics import Dynamics

__all__ = ["History", "history"]

Floats = NDArray[np.float64]

RANKINGS_OF = "plackett_luce"
FAMILIES: dict[str, tuple[Any, dict[str, float]]] = {  # with some parameter of ties
    "bradley_terry": (BradleyTerry, {}),
    "davidson": (Davidson, {"nu": 1.0}),
    "rao_kupper": (RaoKupper, {"theta": 2.0}),
    RANKINGS_OF: (PlackettLuce, {}),
}
NEAR = 0.03  # to where the logarithms of hyperparameters are searched for
MOST_TRIED = 100
LEAST_BEND = 0.5  # smallest curvature assumed at the mode; about that of the prior
POINTS = 21  # of the quadrature over the lead of a match, and over ties


def history(
    data: Pairs | Rankings,
    *,
    time: str,
    dynamics: str = "random_walk",
    likelihood: str | None = None,
    hyperparameters: Mapping[str, float] | None = None,
    unit: str = "year",
    order_effect: bool = True,
    newcomers: bool = False,
    covariates: Mapping[str, ArrayLike] | None = None,
    seed: int = 1,
) -> "History":
    """Fit utilities that change with time.

    Parameters
    ----------
    data : Pairs or Rankings
        Grouped by time: ``by=`` of `Pairs.from_frame`, or `Rankings.grouped`. All of a label, such
        as a day, are at the same time.
    time : str
        The group whose labels are dates, or numbers, which are times as they are.
    dynamics : str
        How utilities change: one of `bayesrank.utility.dynamics.PARTS`, or a sum of some.
    likelihood : str, optional
        "davidson", "rao_kupper" or "bradley_terry" of pairs (by default the first if any tie, else
        the last), "plackett_luce" of rankings.
    hyperparameters : mapping of str to float, optional
        Of the dynamics, positive: these are not learned.
    unit : str
        What dates are counted in: "year", "week", "day", "hour" or "second". Lengths are in this
        unit, and drifts per root of it.
    order_effect : bool
        Whether the first item of a pair may have an advantage: Normal(0, 0.5).
    newcomers : bool
        Whether items that were not there at the first time have a mean of their own, such as of
        promoted teams: Normal(0, 1).
    covariates : mapping of str to array, optional
        What adds to the lead of the first item, (n_pairs,), or to the utility in every slot,
        (n_rankings, n_slots), times a coefficient: Normal(0, 1).
    seed : int
        Of the probes of the evidence.

    Returns
    -------
    History

    Raises
    ------
    ValueError
        If labels are no times, an item is in two matches at the same instant (a time with hours),
        the data have ties and the likelihood none, weights or hyperparameters are not as they must
        be, or names do not fit.

    Notes
    -----
    Utilities of an item begin where it is first seen, with the prior of the dynamics, whose mean is
    0 (or that of newcomers).

    The posterior averages over the hyperparameters that are not given. At each of some nodes it is
    the normal around the mode, so intervals are still too narrow where nearly all matches are won
    by the better item: there the posterior is far from normal.

    Examples
    --------
    >>> import bayesrank as br
    >>> races = br.load_nascar()
    >>> races = races.grouped({"race": np.arange(races.n_rankings)})
    >>> fit = br.history(races, time="race", dynamics="random_walk",
    ...                  hyperparameters={"scale": 1.0, "drift": 0.05})
    >>> fit.draws(draws=100)["posterior"]["utility"].dims
    ('chain', 'draw', 'item')
    """
    problem = Problem.read(data, time, unit, likelihood, order_effect, newcomers, covariates or {})
    shape = Dynamics(dynamics)
    found = learned(problem, shape, checked_hyperparameters(hyperparameters or {}, shape), seed)
    best = dict(zip(shape.names, found.values.tolist(), strict=True))
    return History(problem, shape, best, found.mode, found.nodes, found.log_weight, seed)


@dataclass(frozen=True)
class Problem:
    """What is observed, with times as numbers."""

    data: Pairs | Rankings
    group: str
    unit: str
    times: Floats  # of the labels of the group
    likelihood: str
    order_effect: bool
    newcomers: bool
    covariates: Mapping[str, Floats]

    @classmethod
    def read(
        cls,
        data: Pairs | Rankings,
        group: str,
        unit: str,
        likelihood: str | None,
        order_effect: bool,
        newcomers: bool,
        covariates: Mapping[str, ArrayLike],
    ) -> "Problem":
        if not isinstance(data, Pairs | Rankings):
            raise TypeError(f"Expected Pairs or Rankings; got {type(data).__name__}.")
        if group not in data.groups:
            raise ValueError(
                f"There is no group {group!r}; the data are grouped by "
                f"{quoted(data.groups) or 'nothing'}. Name its column in `by` of from_frame, or "
                f"add it with Rankings.grouped."
            )
        times = label_times(data.groups[group].labels, group, unit)
        if isinstance(data, Pairs):
            ties = bool(data.counts[:, 2].any())
            likelihood = likelihood or ("davidson" if ties else "bradley_terry")
            if likelihood not in TIES:
                raise ValueError(
                    f"`likelihood` of pairs is {likelihood!r}; it must be one of {quoted(TIES)}."
                )
            if ties and likelihood == "bradley_terry":
                raise ValueError(
                    "The pairs have ties, and bradley_terry has none: take davidson or "
                    "rao_kupper, or pairs.split_ties()."
                )
            shape: tuple[int, ...] = (data.n_pairs,)
        else:
            if likelihood not in (None, RANKINGS_OF):
                raise ValueError(
                    f"`likelihood` of rankings is {likelihood!r}; it must be {RANKINGS_OF!r}."
                )
            likelihood, shape = RANKINGS_OF, data.ranks.shape
        read = {}
        for name, values in covariates.items():
            noun = "pair" if isinstance(data, Pairs) else "ranking"
            read[name] = float_array(per_row(values, {noun: data.labels}, name), name)
            if read[name].shape != shape or not np.isfinite(read[name]).all():
                raise ValueError(
                    f"The covariate {name!r} must be finite numbers of the shape {shape}; it has "
                    f"the shape {read[name].shape}."
                )
        problem = cls(data, group, unit, times, likelihood, order_effect, newcomers, read)
        problem._refuse_two_at_once()
        return problem

    def _refuse_two_at_once(self) -> None:
        """Raise for an item in two matches at an instant; on a day there may be two."""
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
                "Correct the time, or give days, on which an item may be in several matches."
            )

    @property
    def time(self) -> Floats:
        """Time of every pair or ranking."""
        return self.times[self.data.groups[self.group].idx]

    def observations(self, also: Any = None, n: int | None = None) -> Observations:
        """Lay out what is observed, with further nodes."""
        found = observations_of(
            self.data,
            self.time,
            self.likelihood,
            order_effect=self.order_effect and isinstance(self.data, Pairs),
            newcomers=self.newcomers,
            covariates=self.covariates,
            also=also,
        )
        return found if n is None else found.head(n)

    def read_times(self, at: Any) -> tuple[Floats, Any]:
        """Read one time or several: numbers, and what to call them."""
        labels = plain_index([at] if isinstance(at, str) or np.ndim(at) == 0 else at, "at")
        return label_times(labels, self.group, self.unit), labels


def checked_hyperparameters(given: Mapping[str, float], dynamics: Dynamics) -> dict[str, float]:
    for name, value in given.items():
        if name not in dynamics.names:
            raise ValueError(
                f"The dynamics {dynamics.text!r} has no hyperparameter {name!r}; it has "
                f"{', '.join(dynamics.names)}."
            )
        if not 0 < value < np.inf:
            raise ValueError(f"The hyperparameter {name!r} is {value}; it must be positive.")
    return dict(given)


class Node(NamedTuple):
    """Values of the hyperparameters, and the mode of the utilities given them."""

    values: Floats  # (n_hyperparameters,)
    log_marginal: float  # of the logarithms of the hyperparameters, but for a constant
    dual: Floats


class Learned(NamedTuple):
    """The best hyperparameters, and weighted nodes over their posterior."""

    values: Floats
    mode: Mode
    nodes: tuple[Node, ...]
    log_weight: Floats  # (n_nodes,)

    def few(self) -> tuple[list[Node], Floats]:
        """Return at most two nodes per hyperparameter, and their weights.

        The logarithms of their hyperparameters have the mean and the covariance of all nodes. The
        search for the mode at each starts from the mode of the nearest node.
        """
        x, weight = np.log([node.values for node in self.nodes]), np.exp(self.log_weight)
        mean = weight @ x
        values, vectors = np.linalg.eigh(((x - mean).T * weight) @ (x - mean))
        free = values > 1e-9  # of those that are given nothing varies
        n = int(free.sum())
        if len(self.nodes) <= max(1, 2 * n):
            return list(self.nodes), weight
        axes = (vectors[:, free] * np.sqrt(n * values[free])).T
        points = np.concatenate([mean + axes, mean - axes])
        near = ((points[:, None] - x) ** 2).sum(axis=2).argmin(axis=1).tolist()
        few = [
            self.nodes[k]._replace(values=np.exp(point))
            for k, point in zip(near, points, strict=True)
        ]
        return few, np.full(2 * n, 1 / (2 * n))


def learned(problem: Problem, dynamics: Dynamics, given: Mapping[str, float], seed: int) -> Learned:
    """Find the hyperparameters of the highest density, and nodes around them.

    The log density of their logarithms is the evidence and the prior. Where some are given, nodes
    differ in the others alone.
    """
    observations = problem.observations()
    span = float(np.ptp(observations.time)) or 1.0
    medians = dynamics.medians(span)
    start = np.log([given.get(name, m) for name, m in zip(dynamics.names, medians, strict=True)])
    free = np.array([name not in given for name in dynamics.names])
    last: list[Any] = [None]

    def whole(part: Floats) -> Floats:
        x = start.copy()
        x[free] = part
        return x

    def at(x: Floats, dual: Floats | None) -> Mode:
        chains = Chains(observations.nodes, observations.common, dynamics, np.exp(x))
        return find_mode(chains, observations, dual)

    def log_density(x: Floats, mode: Mode) -> float:
        return log_evidence(mode, seed=seed).value + dynamics.log_prior(x, span)

    def height(part: Floats) -> float:
        x = whole(part)
        mode = at(x, last[0])
        last[0] = mode.dual
        return log_density(x, mode)

    def node(part: Floats, near: Node | None) -> Node:
        x = whole(part)
        mode = at(x, last[0] if near is None else near.dual)
        density = log_density(x, mode) + beyond_laplace(mode, seed=seed)
        return Node(np.exp(x), density, mode.dual)

    if not free.any():
        mode = at(start, None)
        values = np.exp(start)
        return Learned(values, mode, (Node(values, 0.0, mode.dual),), np.zeros(1))
    # by a quadratic model: a thousandth of a nat is noise
    options = {"initial_tr_radius": 0.5, "final_tr_radius": NEAR, "maxfev": MOST_TRIED}
    found: Any = minimize(  # type: ignore[call-overload]
        lambda part: -height(part), start[free], method="COBYQA", options=options
    )
    peak = found.x
    values, mode = np.exp(whole(peak)), at(whole(peak), last[0])
    last[0] = mode.dual
    _, curvature = curvature_of(height, peak, -float(found.fun))
    bend, along = np.linalg.eigh(curvature)
    covariance = (along / np.maximum(bend, LEAST_BEND)) @ along.T
    if np.diag(covariance).max() < KNOWN**2:
        return Learned(values, mode, (Node(values, 0.0, mode.dual),), np.zeros(1))
    _, log_weight, nodes, _ = weighted_nodes(peak, covariance, -float(found.fun), height, node)
    return Learned(values, mode, tuple(nodes), log_weight)


@dataclass(frozen=True, eq=False, repr=False)
class History:
    """The posterior of utilities that change with time; see `history`, which makes it.

    Attributes
    ----------
    dynamics : Dynamics
    hyperparameters : dict
        Those of the dynamics: the best ones, or those that were given.
    mode : Mode
        Of the utilities at all times at which items are seen, given these hyperparameters.
    """

    _problem: Problem
    dynamics: Dynamics
    hyperparameters: dict[str, float]
    mode: Mode
    _nodes: tuple[Node, ...]
    _log_weight: Floats
    _seed: int

    @property
    def data(self) -> Pairs | Rankings:
        """What is observed."""
        return self._problem.data

    @property
    def likelihood(self) -> str:
        """What it is observed by."""
        return self._problem.likelihood

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation of the log-probability of the data, given the hyperparameters.

        It is that of the outcomes in the order in which they came.
        """
        return log_evidence(self.mode, seed=self._seed).value

    @property
    def observations(self) -> Observations:
        """How what is observed depends on the utilities."""
        return self.mode.information.observations

    @property
    def nodes(self) -> pd.DataFrame:
        """Hyperparameters over which draws and predictions average, and the weight of each.

        There is one row where all are given, or where the data know them well.
        """
        table = pd.DataFrame([node.values for node in self._nodes], columns=self.dynamics.names)
        return table.rename_axis("node").assign(weight=np.exp(self._log_weight))

    def __repr__(self) -> str:
        """Say what was fitted."""
        n_nodes = self.observations.nodes.item.size
        learned = ", ".join(f"{name} {value:.3g}" for name, value in self.hyperparameters.items())
        return (
            f"History: {counted(self.data.n_items, 'item')} at {n_nodes} times in all, "
            f"{self.likelihood}, {self.dynamics.text} ({learned})"
        )

    def draws(
        self,
        at: Any = None,
        *,
        since: Any = None,
        draws: int = 250,
        chains: int = 4,
        seed: int = 1,
        log_likelihood: bool = False,
    ) -> xr.DataTree:
        """Draw utilities at one or more times, from the past, the present or the future.

        Parameters
        ----------
        at : date or number, or a sequence of them, optional
            When; by default at the last time of the data.
        since : date or number, optional
            Leave out items that were last seen before.
        draws, chains : int
            Draws are independent; chains differ by chance alone.
        seed : int
        log_likelihood : bool
            Whether to add the log-likelihood of every pair or ranking, and what was observed, for
            `br.compare` with other models of the same data. All utilities are kept meanwhile: 8
            bytes for each draw of every item at every time at which it is seen.

        Returns
        -------
        DataTree
            Its posterior has ``utility`` (chain, draw, item), or with the dim of the times before
            the last if `at` is a sequence, less the mean of the items in each draw; and what is the
            same at all times. An item that is not there yet at the (last) time is left out; at an
            earlier one before it comes in its utility is NaN. Its sample_stats have ``node``: the
            row of `nodes` whose hyperparameters a draw has.

        Raises
        ------
        ValueError
            If no item is there at the time.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": [*"abc"], "y": [*"bca"], "won": ["first"] * 3,
        ...                       "round": [1, 2, 3]})
        >>> pairs = br.Pairs.from_frame(table, first="x", second="y", outcome="won", by="round")
        >>> given = {"scale": 1.0, "drift": 0.3}
        >>> fit = br.history(pairs, time="round", dynamics="random_walk", hyperparameters=given)
        >>> br.rank_summary(fit.draws(at=5)).index.tolist()  # doctest: +SKIP
        ['c', 'a', 'b']
        >>> dict(fit.draws(at=[1, 3, 5])["posterior"]["utility"].sizes)
        {'chain': 4, 'draw': 250, 'round': 3, 'item': 3}
        """
        p = self._problem
        one = at is None or isinstance(at, str) or np.ndim(at) == 0
        if at is None:
            at = self._last_label()
        times, labels = p.read_times(at)
        order = np.argsort(times)
        entry, last = self._seen()
        items = np.flatnonzero(entry <= times.max())
        if since is not None:
            items = items[last[items] >= p.read_times(since)[0][0]]
        if not len(items):
            raise ValueError(f"No item is there at {quoted(labels[order[-1:]])}.")
        item, when = np.repeat(items, len(times)), np.tile(times, len(items))
        there = when >= entry[item]
        wider = p.observations((item[there], when[there]))
        rng = np.random.default_rng(seed)
        n_nodes = wider.nodes.item.size
        places = wider.nodes.places(item[there], when[there])
        keep: Any = np.append(places, n_nodes + np.arange(len(wider.common)))
        whole = slice(None) if log_likelihood else keep
        node = node_of_draws(self._log_weight, draws * chains, rng)
        found = np.empty((wider.n if log_likelihood else len(keep), node.size))
        for k, one_node in enumerate(self._nodes):
            mine = np.flatnonzero(node == k)
            if mine.size:
                mode = self._moved(one_node, wider)
                found[:, mine] = posterior_draws(mode, mine.size, rng, keep=whole)
        everywhere, found = found, found[keep] if log_likelihood else found
        utility: Any = np.full((item.size, draws * chains), np.nan)
        utility[there] = found[: len(places)]
        utility = utility.reshape(len(items), len(times), -1).transpose(2, 1, 0)
        utility -= np.nanmean(utility, axis=2, keepdims=True)

        names = p.data.coords["item"][items]
        values: dict[str, Any] = {"utility": utility[:, 0] if one else utility}
        for k, what in enumerate(wider.common):
            x = found[len(places) + k] + what.mean
            values[what.name] = TIE_VALUE.get(what.name, lambda x: x)(x)
        dims = {"utility": ["item"] if one else [p.group, "item"]}
        coords = {"item": names} | ({} if one else {p.group: time_coordinates(labels, p.group)})
        out = az.from_dict(
            {"posterior": {k: v.reshape(chains, draws, *v.shape[1:]) for k, v in values.items()}},
            coords=coords,
            dims=dims,
        )
        out["sample_stats"] = xr.DataTree(
            xr.Dataset(
                {"node": (("chain", "draw"), node.reshape(chains, draws))},
                coords={"chain": np.arange(chains), "draw": np.arange(draws)},
            )
        )
        said = {"inference_library": "bayesrank", "approximation": "Laplace", "at": str(at)}
        for group in ("posterior", "sample_stats"):
            out[group].attrs.update(said)
        return self._with_log_likelihood(out, wider, everywhere) if log_likelihood else out

    def _with_log_likelihood(self, out: xr.DataTree, o: Observations, x: Floats) -> xr.DataTree:
        """Add what `pymc.compute_log_likelihood` would, from utilities at all nodes."""
        data = self.data
        logp = np.stack([o.evaluate(o.rows(draw)).logp for draw in x.T])
        if isinstance(data, Pairs):  # outcomes of a pair in whatever order
            n = data.counts
            ways = gammaln(n.sum(axis=1) + 1.0) - gammaln(n + 1.0).sum(axis=1)
            logp += data.weight * ways
        family, tie = FAMILIES[self.likelihood]
        with pm.Model(coords=data.coords) as model:
            family("y", np.zeros(data.n_items), observed=data, **tie)
        coords, _ = coords_and_dims_for_inferencedata(model)
        kept = {name: xr.DataTree(group) for name, group in data_groups(model).items()}
        sizes = out["posterior"].sizes
        logp = logp.reshape(sizes["chain"], sizes["draw"], -1)
        each = model.named_vars_to_dims["y"][0]
        of_rows = az.from_dict(
            {"log_likelihood": {"y": logp}}, coords={each: coords[each]}, dims={"y": [each]}
        )
        out.update({**of_rows.children, **kept})
        return out

    def with_data(
        self, data: Pairs | Rankings, *, covariates: Mapping[str, ArrayLike] | None = None
    ) -> "History":
        """Observe other data, such as those of today in addition, with the same hyperparameters.

        Nodes keep their weights. The mode of each is looked for from where it was, so that a day
        more takes a step or two.

        Parameters
        ----------
        data : Pairs or Rankings
            All that is known now, of the same kind and grouped by the same times. There may be new
            items and new times; what is left out is forgotten.
        covariates : mapping of str to array, optional
            Of all of them, under the names that there were.

        Returns
        -------
        History

        Raises
        ------
        ValueError
            As `history`, or if covariates have other names.
        TypeError
            If the data are of another kind.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"x": [*"abab"], "y": [*"baba"], "won": ["first"] * 4,
        ...                       "round": [1, 2, 3, 4]})
        >>> def read(rows):
        ...     return br.Pairs.from_frame(table[:rows], first="x", second="y", outcome="won",
        ...                                by="round")
        >>> given = {"scale": 1.0, "drift": 0.3}
        >>> fit = br.history(read(3), time="round", hyperparameters=given)
        >>> fit.with_data(read(4)).data.n_pairs
        4
        """
        p = self._problem
        if not isinstance(data, type(p.data)):
            raise TypeError(
                f"The history is of {type(p.data).__name__}, and cannot observe "
                f"{type(data).__name__}."
            )
        if set(covariates or {}) != set(p.covariates):
            raise ValueError(
                f"The data had the covariates {quoted(p.covariates) or 'none'}, these have "
                f"{quoted(covariates or {}) or 'none'}: give the same."
            )
        problem = Problem.read(
            data, p.group, p.unit, p.likelihood, p.order_effect, p.newcomers, covariates or {}
        )
        o = problem.observations()
        item = data.items.get_indexer(p.data.items)

        def moved(values: Any, dual: Floats) -> Mode:
            chains = Chains(o.nodes, o.common, self.dynamics, values)
            return find_mode(chains, o, moved_dual(self.observations, dual, o, item))

        mode = moved(list(self.hyperparameters.values()), self.mode.dual)
        nodes = [node._replace(dual=moved(node.values, node.dual).dual) for node in self._nodes]
        return replace(self, _problem=problem, mode=mode, _nodes=tuple(nodes))

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
            When; by default at the last time of the data.
        covariates : mapping of str to array, (n,), optional
            As those of the data.

        Returns
        -------
        DataFrame
            A row per match: first, second, the time, p_first, p_second and, in models of ties,
            p_tie: averages over the posterior, which is the wider the longer an item was not seen;
            and the mean and sd of the lead of the first item. All average over the nodes.

        Raises
        ------
        ValueError
            If an item is unknown, the lengths differ, or the data are rankings: of these take
            `draws` at the time, and `place_probability`.
        """
        p = self._problem
        if not isinstance(p.data, Pairs):
            raise ValueError(
                "These are rankings, not matches: br.place_probability(fit.draws(at=...)) has the "
                "probabilities of places."
            )
        n = len(first)
        if len(second) != n:
            raise ValueError(f"`first` has {n} items and `second` {len(second)}.")
        columns = [first, second, at, *(covariates or {}).values()]
        indexes = [x.index for x in columns if isinstance(x, pd.Series)]
        if not all(indexes[0].equals(index) for index in indexes):
            raise ValueError(
                "`first`, `second`, `at` and the covariates are Series with different indexes. "
                "Take them from one table, or give arrays in one order."
            )
        one, other = (
            locate(plain_index(x, "items"), p.data.items, "item") for x in (first, second)
        )
        times, labels = (
            p.read_times(self._last_label() if at is None else at)
            if (at is None or isinstance(at, str) or np.ndim(at) == 0)
            else self._each_time(at, n)
        )
        ahead = _with_matches(p, one, other, np.broadcast_to(times, n), covariates or {})
        whole, old = ahead.observations(), p.data.n_pairs
        known, to_come = whole.head(old), whole.tail(old)
        moments = [row_moments(self._moved(node, known), to_come) for node in self._nodes]
        found = mixed_matches(moments, np.exp(self._log_weight), p.likelihood)
        table = pd.DataFrame(
            {"first": list(first), "second": list(second), p.group: np.broadcast_to(labels, n)}
        )
        names = ("p_first", "p_second", "p_tie")
        for name, column in zip(names, found.probability.T, strict=False):
            table[name] = column
        table["lead"], table["lead_sd"] = found.lead, found.lead_sd
        return table

    def _each_time(self, at: Any, n: int) -> tuple[Floats, Any]:
        labels = plain_index(at, "at")
        if len(labels) != n:
            raise ValueError(f"`at` has {len(labels)} times for {counted(n, 'match')}.")
        distinct, code = np.unique(labels, return_inverse=True)
        return label_times(plain_index(distinct, "at"), self._problem.group, self._problem.unit)[
            code
        ], labels

    def _last_label(self) -> Any:
        labels = self.data.groups[self._problem.group].labels
        used = np.unique(self.data.groups[self._problem.group].idx)
        return labels[used[np.argmax(self._problem.times[used])]]

    def _seen(self) -> tuple[Floats, Floats]:
        """First and last time of every item; infinite for one that is never there."""
        nodes = self.observations.nodes
        first, last = np.full(self.data.n_items, np.inf), np.full(self.data.n_items, -np.inf)
        np.minimum.at(first, nodes.item, nodes.time)
        np.maximum.at(last, nodes.item, nodes.time)
        return first, last

    def _moved(self, node: Node, wider: Observations) -> Mode:
        """Put the mode of a node on more times of items."""
        chains = Chains(wider.nodes, wider.common, self.dynamics, node.values)
        dual = moved_dual(self.observations, node.dual, wider)
        x = chains.covariance(dual[:, None])[:, 0]
        found = wider.evaluate(wider.rows(x))
        return Mode(x, dual, float(found.logp.sum()), Information(chains, wider, found.curvature))


def moved_dual(
    old: Observations, dual: Floats, other: Observations, item: NDArray[Any] | None = None
) -> Floats:
    """Put numbers of nodes on other nodes: those of new ones are 0.

    Where the items are others, `item` says which of them each old one is, -1 of none.
    """
    out = np.zeros(other.n)
    n = old.nodes.item.size
    which = old.nodes.item if item is None else item[old.nodes.item]
    place = other.nodes.places(which, old.nodes.time)
    out[place[place >= 0]] = dual[:n][place >= 0]
    names = [what.name for what in other.common]
    for k, what in enumerate(old.common):
        if what.name in names:
            out[other.nodes.item.size + names.index(what.name)] = dual[n + k]
    return out


def _with_matches(
    p: Problem, first: Any, second: Any, times: Floats, covariates: Mapping[str, ArrayLike]
) -> Problem:
    """Add matches that nobody won, which say nothing."""
    pairs: Any = p.data
    n = len(first)
    if set(covariates) != set(p.covariates):
        raise ValueError(
            f"The data have the covariates {quoted(p.covariates) or 'none'}; give those of the "
            f"matches to predict, not {quoted(covariates) or 'none'}."
        )
    both = np.concatenate([p.time, times])
    distinct, idx = np.unique(both, return_inverse=True)
    grown = replace(
        pairs,
        first=np.append(pairs.first, first).astype(np.int32),
        second=np.append(pairs.second, second).astype(np.int32),
        counts=np.concatenate([pairs.counts, np.zeros((n, 3), dtype=np.int64)]),
        weight=np.append(pairs.weight, np.ones(n)),
        judge_idx=np.append(pairs.judge_idx, np.zeros(n, dtype=np.int32)),
        groups={p.group: type(pairs.groups[p.group])(pd.Index(distinct), idx.astype(np.int32))},
    )
    more = {
        name: np.append(x, np.asarray(covariates[name], dtype=float))
        for name, x in p.covariates.items()
    }
    return replace(p, data=grown, times=distinct, covariates=more)


class Matches(NamedTuple):
    """What is to be expected of matches, averaged over nodes."""

    probability: Floats  # (n, n_outcomes)
    lead: Floats  # (n,)
    lead_sd: Floats  # (n,)


def mixed_matches(
    moments: Sequence[tuple[Floats, list[Floats]]], weight: Floats, likelihood: str
) -> Matches:
    """Average match probabilities over nodes with given moments and weights."""
    probability = [match_probabilities(*each, likelihood) for each in moments]
    n = len(probability[0])
    lead = np.stack([mean.reshape(n, -1)[:, 0] if n else mean for mean, _ in moments])
    variance = np.array([[block[0, 0] for block in blocks] for _, blocks in moments])
    mean = weight @ lead
    sd = np.sqrt(weight @ (variance + (lead - mean) ** 2))
    return Matches(np.tensordot(weight, np.stack(probability), 1), mean, sd)


def match_probabilities(mean: Floats, covariance: Sequence[Floats], likelihood: str) -> Floats:
    """Average the probabilities of outcomes over normal leads and ties, by quadrature.

    Parameters
    ----------
    mean : array, (n * rows,)
        Lead and, in models of ties, their parameter.
    covariance : sequence of array, (rows, rows)
    likelihood : str

    Returns
    -------
    array, (n, 2) or (n, 3)
        Of the first, the second and a tie.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    weights = weights / weights.sum()
    n = len(covariance)
    if not n:
        return np.zeros((0, 3))
    C = np.stack(covariance)
    mean = mean.reshape(n, -1)
    sd = np.sqrt(np.maximum(C[:, 0, 0], 0.0))
    lead = mean[:, :1] + sd[:, None] * nodes  # (n, nodes)
    if likelihood == "bradley_terry":
        log_p = log_softmax(np.stack([lead, np.zeros_like(lead)], axis=-1), axis=-1)
        return np.einsum("k,nkr->nr", weights, np.exp(log_p))
    # what the parameter of ties is given the lead: nearly always it is known much better
    along = np.divide(C[:, 0, 1], sd, out=np.zeros(n), where=sd > 0)
    rest = np.sqrt(np.maximum(C[:, 1, 1] - along**2, 0.0))
    tie = (
        mean[:, 1, None, None]
        + along[:, None, None] * nodes[:, None]
        + (rest[:, None, None] * nodes)
    )
    lead = lead[:, :, None]
    if likelihood == "davidson":
        z = np.stack(np.broadcast_arrays(lead / 2, -lead / 2, tie), axis=-1)
        p = np.exp(log_softmax(z, axis=-1))
    else:
        kappa = np.exp(tie)
        one, other = (1 / (1 + np.exp(kappa - side)) for side in (lead, -lead))
        p = np.stack([one, other, 1 - one - other], axis=-1)
    return np.einsum("k,m,nkmr->nr", weights, weights, p)
