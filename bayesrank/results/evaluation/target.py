"""Whether votes of others help to predict the votes of the target, such as those of people."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayesrank.data.derive import log_multinomial
from bayesrank.data.read import counted
from bayesrank.results.evaluation.loo import ParetoKWarning, loo_of
from bayesrank.results.evaluation.psis import good_pareto_k
from bayesrank.schema import COUNTS, FIRST, SECOND, VOTES, WEIGHT, Kept

__all__ = ["TargetCheck", "target_check"]


class TargetCheck(NamedTuple):
    """How well votes of the target are predicted, by all votes and by those of the target alone.

    Attributes
    ----------
    votes : int
        Number of votes of the target, left out pair by pair.
    loss, loss_alone : float
        Log loss per vote, in nats, given all other votes, or those of the target alone.
    gain : float
        ``loss_alone - loss``: positive if the votes of others help.
    se : float
        Standard error of the gain, over the pairs.
    rough : int
        Number of pairs for which importance sampling is unreliable, in either posterior.
    """

    votes: int
    loss: float
    loss_alone: float
    gain: float
    se: float
    rough: int


def target_check(
    joint: xr.DataTree,
    alone: xr.DataTree,
    *,
    target: Any,
    kind: str = "kind",
    var_name: str = "y",
) -> TargetCheck:
    r"""Compare predictions of held-out votes of people with and without the votes of machines.

    .. math:: \text{gain} = \frac1n \sum_{r \in \text{people}} \bigl[
              \log p(y_r \mid \text{all others}) - \log p(y_r \mid \text{other votes of people})
              \bigr]

    where :math:`y_r` are the votes of one row of the pairs, and n is the number of votes of people.
    The votes of a row are left out together, by importance sampling as in `loo`.

    Parameters
    ----------
    joint : DataTree
        Posterior of ``leaderboard_model(votes, target=...)`` with its log-likelihood
        (`pm.compute_log_likelihood`).
    alone : DataTree
        Posterior of ``leaderboard_model`` for the votes of the target alone, in the same order,
        with its log-likelihood.
    target : label
        The kind of judge whose votes are predicted.
    kind : str
        The group of the kinds of judge.
    var_name : str
        The observed variable.

    Returns
    -------
    TargetCheck

    Raises
    ------
    ValueError
        If `joint` has no such group or kind, or the votes of its judges are not those of `alone`.
        Also for the reasons of `loo`.

    See Also
    --------
    votes_worth, loo, leaderboard_model

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> import bayesrank as br
    >>> def fitted(log_likelihood, kinds):
    ...     logp = np.broadcast_to(log_likelihood, (2, 100, len(kinds)))
    ...     votes = {"y_counts": (("pair", "result"), [[1, 0]] * len(kinds)),
    ...              "y_kind": ("pair", kinds), "y_kind_matches": ("kind", np.bincount(kinds))}
    ...     data = xr.Dataset(votes, {"kind": ["people", "machines"][: max(kinds) + 1]})
    ...     return xr.DataTree.from_dict({
    ...         "log_likelihood": xr.Dataset({"y": (("chain", "draw", "pair"), logp)}),
    ...         "constant_data": data})
    >>> joint, alone = fitted([-0.4, -0.5, -0.3], [0, 0, 1]), fitted([-0.7, -0.6], [0, 0])
    >>> check = br.target_check(joint, alone, target="people")
    >>> check.votes, round(check.gain, 3)
    (2, 0.2)
    """
    kept, mine = Kept(joint, var_name), Kept(alone, var_name)
    if kind not in kept.groups:
        raise ValueError(
            f"{var_name!r} is not grouped by {kind!r}; its groups are "
            f"{', '.join(map(repr, kept.groups))}. Name the group of kinds with kind=."
        )
    labels = np.asarray(kept.labels(kind))
    counts = kept[COUNTS].to_numpy()
    rows = (labels[kept.codes(kind)] == target) & (counts.sum(axis=1) > 0)
    if not rows.any():
        names = ", ".join(map(repr, labels.tolist()))
        raise ValueError(f"No vote is of the kind {target!r}; the kinds are {names}.")
    n_outcomes = min(counts.shape[1], mine[COUNTS].shape[1])
    same = np.array_equal(counts[rows].sum(axis=1), mine[COUNTS].sum(axis=1)) and np.array_equal(
        counts[rows][:, :n_outcomes], mine[COUNTS][:, :n_outcomes]
    )
    if FIRST in kept and FIRST in mine:
        same = same and np.array_equal(_ends(kept)[rows], _ends(mine))
    if not same:
        raise ValueError(
            f"The {counted(int(counts[rows].sum()), 'vote')} of the kind {target!r} in the first "
            f"posterior differ from the {counted(int(mine[COUNTS].sum()), 'vote')} of the second. "
            "Fit the same rows, in the same order."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParetoKWarning)  # `rough` counts these pairs
        found = [loo_of(data, var_name) for data in (joint, alone)]
    elpd, elpd_alone = found[0].elpd_i.to_numpy()[rows], found[1].elpd_i.to_numpy()
    n = int(mine[VOTES if VOTES in mine else COUNTS].sum())
    weight = mine[WEIGHT].to_numpy() if WEIGHT in mine else np.ones(len(elpd_alone))
    ways = float(weight @ log_multinomial(mine[COUNTS].to_numpy()))
    gains = elpd - elpd_alone
    bad = [x.pareto_k.to_numpy() > good_pareto_k(x.n_samples) for x in found]
    return TargetCheck(
        votes=n,
        loss=-(float(elpd.sum()) - ways) / n,
        loss_alone=-(float(elpd_alone.sum()) - ways) / n,
        gain=float(gains.sum()) / n,
        se=float(np.sqrt(len(gains) * gains.var(ddof=1))) / n if len(gains) > 1 else np.nan,
        rough=int((bad[0][rows] | bad[1]).sum()),
    )


def _ends(kept: Kept) -> NDArray[Any]:
    """Return the labels of the two items of each row."""
    ends = np.stack([kept[FIRST].to_numpy(), kept[SECOND].to_numpy()], axis=1)
    return ends if kept.items is None else kept.items.to_numpy()[ends]
