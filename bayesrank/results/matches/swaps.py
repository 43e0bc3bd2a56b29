r"""Flip rates: how often the verdict of a judge changes with the order of the two items.

A judge saw the items i and j for one prompt in both orders. In each order, the verdict is that i is
better, that j is better, or a tie. It *flips* if the two verdicts differ. A flip from one item to
the other *reverses* the verdict; other flips are to or from a tie. Grades count by who won. If a
judge voted several times in an order, all pairs of votes count, with equal weights.
"""

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from bayesrank.data.read import ONE_ORDER, SWAP, who_won
from bayesrank.results.draws import SAMPLE
from bayesrank.schema import COUNTS, FIRST, GRADE, JUDGE, SECOND, VOTES, Kept

__all__ = ["flip_rates"]

Floats = NDArray[np.float64]


def flip_rates(data: xr.DataTree, var_name: str = "y", *, group: str = SWAP) -> pd.DataFrame:
    r"""Compute how often verdicts change with the order of the two items, by judge.

    In one order, w votes are for the item that is earlier on the axis, l for the other item, and t
    are ties. In the other order, these are :math:`w', l'` and :math:`t'`. The rate is

    .. math:: 1 - \frac{w w' + l l' + t t'}{(w + l + t) (w' + l' + t')}

    With one vote in each order, it is 1 if who won changes, and 0 if not. A change to or from a tie
    is a flip.

    Parameters
    ----------
    data : DataTree
        Posterior of `leaderboard_model` for pairs with the group "swap", with posterior predictive
        draws of the votes (`pm.sample_posterior_predictive`).
    var_name : str
        The observed variable.
    group : str
        The group of votes of a judge on the same pair and prompt.

    Returns
    -------
    DataFrame
        Indexed by judge, the highest flip rate first, without judges who saw nothing in both
        orders. The columns are

        pairs
            Number of pairs and prompts that the judge saw in both orders.

        flips
            Mean flip rate of these.

        reversed
            Share in which the other item won: flips without those to or from a tie.

        expected, low, high
            Mean flip rate of simulated votes on the same pairs, and its quantiles 0.05 and 0.95.

        p_more
            Probability of a flip rate at least as high, by the model.

    Raises
    ------
    ValueError
        If the votes have no such group, or the posterior has no predictions.

    See Also
    --------
    leaderboard_model, match_checks, adherence_summary

    Examples
    --------
    >>> import numpy as np, xarray as xr
    >>> import bayesrank as br
    >>> votes = xr.Dataset({
    ...     "y_first": ("pair", [0, 1]), "y_second": ("pair", [1, 0]),
    ...     "y_counts": (("pair", "result"), [[1, 0], [1, 0]]),
    ...     "y_swap": ("pair", [0, 0]), "y_swap_matches": ("swap", [2]),
    ... }, coords={"swap": ["p: a - b"]})
    >>> drawn = xr.Dataset({"y": (("chain", "draw", "pair", "result"), [[[[1, 0], [0, 1]]]])})
    >>> tree = xr.DataTree.from_dict({"constant_data": votes, "posterior_predictive": drawn})
    >>> br.flip_rates(tree)[["pairs", "flips", "expected"]]  # the first won in both orders
           pairs  flips  expected
    judge
    all        1    1.0       0.0
    """
    kept = Kept(data, var_name)
    if group not in kept.groups:
        raise ValueError(
            f"{var_name!r} is not grouped by {group!r}, so it is not known which votes are on the "
            "same prompt. Read the table with `prompt`."
        )
    if "posterior_predictive" not in data.children:
        raise ValueError(
            "The posterior has no predictions. Compute them with `with model: "
            "pm.sample_posterior_predictive(posterior)`."
        )
    drawn = data["posterior_predictive"][var_name].transpose(*SAMPLE, ...).to_numpy()
    seen = _Both(kept, group)
    observed, reversed_ = seen.rates(kept[COUNTS].to_numpy()[None])
    expected, _ = seen.rates(drawn.reshape(-1, *drawn.shape[2:]))
    low, high = np.quantile(expected, [0.05, 0.95], axis=0)
    table = pd.DataFrame(
        {
            "pairs": seen.number,
            "flips": observed[0],
            "reversed": reversed_[0],
            "expected": expected.mean(axis=0),
            "low": low,
            "high": high,
            "p_more": (expected >= observed[0] - 1e-12).mean(axis=0),
        },
        index=pd.Index(seen.judges, name=JUDGE),
    )
    return table.sort_values("flips", ascending=False, kind="stable")


class _Both:
    """Votes on a pair and prompt in both orders, by judge."""

    def __init__(self, kept: Kept, group: str) -> None:
        self.graded = GRADE in kept
        first, second = kept[FIRST].to_numpy(), kept[SECOND].to_numpy()
        codes, labels = kept.codes(group), np.asarray(kept.labels(group))
        self.turned = first > second
        counts = kept[COUNTS].to_numpy()
        self.weight = np.ones(len(first))
        if VOTES in kept:  # of a stated probability, the more probable outcome is the vote
            self.weight = (kept[VOTES].to_numpy() > 0).astype(float)
        n = np.zeros((2, len(labels)))
        np.add.at(n, (self.turned.astype(int), codes), self.weight * counts.sum(axis=1))
        both = (n > 0).all(axis=0) & (labels != ONE_ORDER)
        self.codes, self.both, self.n = codes, both, n[:, both]
        judge = np.zeros(len(first), dtype=int)
        names: NDArray[Any] = np.array(["all"])
        if JUDGE in kept:
            judge, names = kept.codes(JUDGE), np.asarray(kept.labels(JUDGE))
        judge_of = np.zeros(len(labels), dtype=int)
        judge_of[codes] = judge
        present, self.of_judge = np.unique(judge_of[both], return_inverse=True)
        self.judges = names[present]
        self.number = np.bincount(self.of_judge, minlength=len(present))

    def rates(self, counts: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the rates of flips and of reversals, (n_draws, n_judges)."""
        flips, reversals = np.zeros((2, len(counts), len(self.judges)))
        for k, one in enumerate(counts):
            won = who_won(one) if self.graded else np.pad(one, ((0, 0), (0, 3 - one.shape[1])))
            won = won * self.weight[:, None]
            won[self.turned] = won[self.turned][:, [1, 0, 2]]
            votes = np.zeros((2, len(self.both), 3))
            np.add.at(votes, (self.turned.astype(int), self.codes), won)
            here, there = votes[:, self.both]
            total = self.n[0] * self.n[1]
            flip = 1 - (here * there).sum(axis=1) / total
            turn = (here[:, 0] * there[:, 1] + here[:, 1] * there[:, 0]) / total
            flips[k], reversals[k] = (
                np.bincount(self.of_judge, x, len(self.judges)) / self.number for x in (flip, turn)
            )
        return flips, reversals
