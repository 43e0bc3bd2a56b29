r"""How many votes of the target the votes of others are worth.

Judges of one kind, such as people, are the target, and others, such as machines, add evidence. The
votes of the
target alone determine the utilities with covariance A, and all votes with J. One more vote of the
target, on the same pairs as so far, adds the expected information L. This is a weighted Laplacian
of the graph of matches. The others are worth n votes if these would give the same mean
variance of the differences of two items:

.. math:: \operatorname{tr} M (A^{-1} + n L)^{-1} = \operatorname{tr} M J,
          \qquad M = I - \tfrac{1}{K} 1 1^\top

The trace is half the sum of the variances of all differences, over the number of items K.
"""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray
from scipy.optimize import brentq

from bayesrank.results.matches.outcomes import Matches, matches_of
from bayesrank.schema import COUNTS, FIRST, SECOND, VOTES, Kept

__all__ = ["VotesWorth", "votes_worth"]

Floats = NDArray[np.float64]


class VotesWorth(NamedTuple):
    """How many votes of the target the votes of others are worth.

    Attributes
    ----------
    votes : int
        Number of votes of the target.
    others : int
        Number of votes of others.
    worth : float
        Number of further votes of the target that would determine the utilities as well as the
        votes of others do; infinite if no number would.
    sd_alone, sd : float
        Root of the mean posterior variance of the difference of two items, by the votes of the
        target alone, and by all votes.
    """

    votes: int
    others: int
    worth: float
    sd_alone: float
    sd: float

    @property
    def per_thousand(self) -> float:
        """Number of votes of the target that 1,000 votes of others are worth."""
        return 1000 * self.worth / self.others


def votes_worth(
    joint: xr.DataTree,
    alone: xr.DataTree,
    *,
    var_name: str = "utility",
    observed: str = "y",
    nu: str = "nu",
    dim: str = "item",
) -> VotesWorth:
    r"""Compute how many votes of people the votes of machines are worth.

    It is a number n of further votes of people, on the same pairs as so far. They would determine
    the utilities as well as the votes of machines do:

    .. math:: \sum_{i<j} \operatorname{Var}\bigl(w_i - w_j \mid \text{people}, n \text{ more votes}
              \bigr) = \sum_{i<j} \operatorname{Var}(w_i - w_j \mid \text{people, machines})

    The left side is a projection. The posterior is approximated by a normal distribution. A vote
    on the items i and j adds the expected information about :math:`w_i - w_j`, averaged over the
    draws. The judge is typical, and has no order effect.

    Parameters
    ----------
    joint : DataTree
        Posterior of ``leaderboard_model(votes, target=...)``.
    alone : DataTree
        Posterior of ``leaderboard_model`` for the votes of the target alone, of the same items.
    var_name, nu, dim
        As in `match_probability`.
    observed : str
        The observed variable.

    Returns
    -------
    VotesWorth
        ``per_thousand`` says how many votes of the target 1,000 others are worth. It is 0 if the
        others add nothing.

    Raises
    ------
    ValueError
        If the two have different items, or `joint` has no more votes than `alone`. Also for the
        reasons of `match_probability`.

    See Also
    --------
    target_check, matches_needed, leaderboard_model

    Notes
    -----
    The prior of the utilities is in both posteriors, so it cancels. Variances are those of the
    draws: with 4,000 independent draws, each has a standard error of 2 %. If the two variances
    differ by less, the result is mostly noise.

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> import bayesrank as br
    >>> rng = np.random.default_rng(0)
    >>> def fitted(sd, votes):
    ...     draws = rng.normal(0, sd, (1, 4000, 2))
    ...     utility = xr.DataArray(draws, dims=("chain", "draw", "item"), coords={"item": [*"ab"]})
    ...     data = {"y_first": ("pair", [0]), "y_second": ("pair", [1])}
    ...     data["y_counts"] = (("pair", "result"), [[votes, 0]])
    ...     return xr.DataTree.from_dict({"posterior": utility.to_dataset(name="utility"),
    ...                                   "constant_data": xr.Dataset(data)})
    >>> worth = br.votes_worth(fitted(0.1, 1400), fitted(0.2, 100))
    >>> worth.votes, worth.others, bool(140 < worth.worth < 170)
    (100, 1300, True)
    """
    found, labels = matches_of(alone, var_name, nu, dim)
    other, labels_joint = matches_of(joint, var_name, nu, dim)
    if set(labels) != set(labels_joint):
        raise ValueError(
            f"The two posteriors have different {dim}s, {len(labels_joint)} and {len(labels)}. Fit "
            f"the votes of the target alone with all {dim}s of the others."
        )
    votes, total = (_votes(data, observed) for data in (alone, joint))
    if total <= votes:
        raise ValueError(
            f"The votes of the target alone are {votes:,}, but all votes are {total:,}, no more. "
            "Give first the posterior of all votes, then the posterior of the target alone."
        )
    before, after = _covariance(found), _covariance(other)
    values, vectors = np.linalg.eigh(before)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    each = _information(alone, observed, found, labels) / votes
    known, turn = np.linalg.eigh(root.T @ each @ root)
    known = np.maximum(known, 0.0)
    size = np.einsum("ij,ij->j", root @ turn, root @ turn)
    goal = float(np.trace(after))

    def excess(n: float) -> float:
        return float((size / (1 + n * known)).sum()) - goal

    worth = 0.0
    if excess(0.0) > 0:
        most = 1.0
        while excess(most) > 0 and most < 1e15:
            most *= 2
        worth = float(brentq(excess, 0.0, most)) if excess(most) <= 0 else np.inf
    n = len(labels)
    sd_alone, sd = (float(np.sqrt(2 * np.trace(x) / (n - 1))) for x in (before, after))
    return VotesWorth(votes, total - votes, worth, sd_alone, sd)


def _votes(data: xr.DataTree, observed: str) -> int:
    """Count the matches of an observed variable."""
    kept = Kept(data, observed)
    return int(kept[VOTES if VOTES in kept else COUNTS].sum())


def _covariance(draws: Matches) -> Floats:
    """Return the covariance of the centred utilities, (n_items, n_items)."""
    return np.cov(draws.utility - draws.utility.mean(axis=0))


def _information(data: xr.DataTree, observed: str, draws: Matches, labels: Any) -> Floats:
    """Compute the expected information of matches of the pairs that were observed."""
    kept = Kept(data, observed)
    n = kept[VOTES].to_numpy() if VOTES in kept else kept[COUNTS].to_numpy().sum(axis=1)
    met = np.zeros((len(draws.utility), len(draws.utility)))
    place = np.arange(len(met))
    if kept.items is not None:
        place = pd.Index(labels).get_indexer(kept.items)
    np.add.at(met, (place[kept[FIRST].to_numpy()], place[kept[SECOND].to_numpy()]), n)
    met = met + met.T
    out = np.zeros_like(met)
    for i in range(len(met) - 1):
        others = np.arange(i + 1, len(met))
        added = met[i, others] * draws.information(i, others)
        out[i, others] = out[others, i] = -added
    return out - np.diag(out.sum(axis=1))
