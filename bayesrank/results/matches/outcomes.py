"""Predict the next match of two items from the draws of a posterior."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesrank.match_outcomes import (
    davidson_probabilities,
    grade_derivatives,
    rao_kupper_probabilities,
)
from bayesrank.results.draws import SAMPLE, as_chains, single_group
from bayesrank.schema import COUNTS, DATA, Kept, name_of

__all__ = ["Matches", "match_probability", "matches_of", "outcome_probability"]

Floats = NDArray[np.float64]

THETA = "tie_theta"  # tie parameter of Rao and Kupper


def outcome_probability(lead: ArrayLike, nu: ArrayLike | None = None) -> Floats:
    r"""Compute the probabilities of the outcomes of a match.

    It uses Davidson's model, which is Bradley-Terry's if :math:`\nu = 0`. The judge has adherence
    one, and the order of the two items has no effect:

    .. math:: (\text{win}, \text{tie}, \text{loss}) \propto (e^{d/2}, \nu, e^{-d/2})

    Parameters
    ----------
    lead : array, shape (...)
        Utility of the first item minus the utility of the second item.
    nu : array, shape (...), optional
        Tie parameter of Davidson's model, >= 0; without it there are no ties.

    Returns
    -------
    array of float, shape (..., 3) or (..., 2)
        Win, tie and loss of the first item; without `nu`, win and loss.

    Examples
    --------
    >>> outcome_probability(0.0, 1.0).round(3)
    array([0.333, 0.333, 0.333])
    """
    win, loss, tie = davidson_probabilities(lead, 0.0 if nu is None else nu)
    return np.stack([win, loss] if nu is None else [win, tie, loss], axis=-1)


def match_probability(
    data: Any, var_name: str = "utility", *, nu: str = "nu", dim: str = "item"
) -> xr.DataArray:
    """Compute the probabilities of the outcomes of the next match, for every two items.

    They are those of Bradley-Terry, Davidson, and Rao and Kupper; a Thurstone model has slightly
    different ones. They do not tend to 0 or 1 as data accumulate. Use `win_probability` for the
    probability that one item is better.

    Parameters
    ----------
    data : DataTree, Dataset or DataArray
        Posterior with the dims chain, draw and `dim`, and no others.
    var_name : str
        The utilities.
    nu : str
        The tie parameter of `Davidson`. If the posterior lacks this variable, but has
        ``tie_theta``, that is the tie parameter of `RaoKupper`. `leaderboard_model` of graded
        votes has it: if only the winner counts, its grades are wins and ties of Rao and Kupper. If
        the observed matches have two outcomes, or there is neither, there are no ties. Effects of
        items on the logarithm of `nu` are read from ``item_tie_effect`` (if `dim` is item).
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (dim, dim + "_other", result)
        Posterior means. The results are win, tie and loss of the row's item; without ties, win and
        loss. The diagonal is NaN.

    Raises
    ------
    ValueError
        For the reasons of `rank_draws`, or if there are other dims, or `nu` has dims other than
        chain and draw, or is negative. Also if ``tie_theta`` is below 1, or the observed matches
        have ties or more than three grades, but the posterior has no tie parameter.

    See Also
    --------
    win_probability, next_matches, matches_needed

    Examples
    --------
    >>> import xarray as xr
    >>> import bayesrank as br
    >>> draws = xr.Dataset({"utility": (("chain", "draw", "item"), [[[0.0, 0.0], [1.0, 1.0]]]),
    ...                     "nu": (("chain", "draw"), [[1.0, 2.0]])})
    >>> br.match_probability(draws).sel(result="tie").values.round(3)
    array([[  nan, 0.417],
           [0.417,   nan]])
    """
    draws, labels = matches_of(data, var_name, nu, dim)
    results = ["win", "loss"] if draws.tie is None else ["win", "tie", "loss"]
    n = len(labels)
    out = np.full((n, n, len(results)), np.nan)
    for i in range(n - 1):
        out[i, i + 1 :] = draws.outcomes(i, np.arange(i + 1, n)).mean(1)
        out[i + 1 :, i] = out[i, i + 1 :, ::-1]
    return xr.DataArray(
        out,
        dims=(dim, f"{dim}_other", "result"),
        coords={dim: labels, f"{dim}_other": labels, "result": results},
        name="match_probability",
    )


class Matches(NamedTuple):
    """Draws of the parameters of matches."""

    utility: Floats  # (n_items, n_draws)
    tie: Floats | None  # (n_draws,) nu, or the logarithm of theta, if there are ties
    effect: Floats  # (n_items, n_draws or 1) effect of an item on the logarithm of nu
    davidson: bool = True  # Davidson's model of ties; otherwise Rao and Kupper's

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes: 2, or 3 with ties."""
        return 2 if self.tie is None else 3

    def outcomes(self, one: Any, other: Any, advantage: ArrayLike = 0.0) -> Floats:
        """Compute the probabilities of the outcomes of matches, (..., n_draws, n_outcomes)."""
        lead = self.utility[one] - self.utility[other] + advantage
        if self.tie is None:
            return outcome_probability(lead)
        if self.davidson:
            nu = self.tie * np.exp(self.effect[one] + self.effect[other])
            return outcome_probability(lead, nu)
        win, loss, tie = rao_kupper_probabilities(lead, self.tie)
        return np.stack([win, tie, loss], axis=-1)

    def information(self, one: Any, other: Any) -> Floats:
        """Compute the expected information of matches about the lead, averaged over draws."""
        if self.davidson or self.tie is None:
            # variance of the score: a win changes the log odds by one half
            p = self.outcomes(one, other)
            win, loss = p[..., 0], p[..., -1]
            return np.asarray(((win + loss) - (win - loss) ** 2).mean(-1) / 4)
        lead, cut = self.utility[one] - self.utility[other], np.stack([-self.tie, self.tie], -1)
        logp, _, curvature = grade_derivatives(lead, cut, "cumulative_logit")
        return np.asarray((np.exp(logp) * curvature).sum(-1).mean(-1))

    def some(self, kept: NDArray[np.intp]) -> "Matches":
        """Select draws."""
        tie = None if self.tie is None else self.tie[kept]
        effect = self.effect if self.effect.shape[1] == 1 else self.effect[:, kept]
        return Matches(self.utility[:, kept], tie, effect, self.davidson)


def matches_of(data: Any, var_name: str, nu: str, dim: str) -> tuple[Matches, NDArray[Any]]:
    """Read the parameters of matches and the labels of the items from a posterior."""
    draws, labels = single_group(data, var_name, dim)
    utility = np.ascontiguousarray(draws.T)
    effects = np.zeros((len(labels), 1))
    n_outcomes: set[int] = set()
    if isinstance(data, xr.DataTree):
        n_outcomes = _numbers_of_outcomes(data)
        data = (data["posterior"] if "posterior" in data.children else data).to_dataset()
    without = Matches(utility, None, effects), labels
    if not isinstance(data, xr.Dataset) or n_outcomes == {2}:  # another variable may be called nu
        return without
    n_grades = max(n_outcomes, default=0)
    if nu in data and n_grades <= 3:
        level = _tie_parameter(data, nu, 0.0, "Name the tie parameter of Davidson's model with nu=")
        effect = data.get(f"{dim}_tie_effect")
        if effect is not None:
            effects = as_chains(effect).transpose(dim, *SAMPLE).values.reshape(len(labels), -1)
        return Matches(utility, level, effects), labels
    if THETA in data:
        must = "Rename the variable if it is not the tie parameter of Rao and Kupper"
        level = np.log(_tie_parameter(data, THETA, 1.0, must))
        # without a middle grade, theta is 1, and there are no ties
        return without if not level.any() else (Matches(utility, level, effects, False), labels)
    if n_grades > 3:
        raise ValueError(
            f"The matches have {n_grades} grades, but the posterior has no {THETA!r}, from which "
            "wins and ties would follow; `leaderboard_model` has it. For the probability that one "
            "item is better, use win_probability. For predictions of grades, use "
            "pm.sample_posterior_predictive."
        )
    if 3 in n_outcomes:
        raise ValueError(
            f"The matches may end in ties, but the posterior has no {nu!r}. Name the tie "
            f"parameter of Davidson's model with nu=, or that of Rao and Kupper {THETA!r}. Other "
            "models with ties are not supported; to ignore ties, pass only the utilities, "
            f"idata.posterior[{var_name!r}]."
        )
    return without


def _tie_parameter(data: xr.Dataset, name: str, least: float, way_out: str) -> Floats:
    """Read the draws of a tie parameter, (n_draws,)."""
    tie = as_chains(data[name])
    if set(tie.dims) != {*SAMPLE}:
        raise ValueError(
            f"{name!r} has the dims {list(map(str, tie.dims))}; it must have only chain and "
            "draw, one tie parameter per draw."
        )
    level: Floats = tie.transpose(*SAMPLE).values.reshape(-1)
    if not (level >= least).all():
        raise ValueError(
            f"{name!r} is {level[~(level >= least)][0]:g} in one draw; a tie parameter is "
            f"{least:g} or more. {way_out}."
        )
    return level


def _numbers_of_outcomes(data: xr.DataTree) -> set[int]:
    """Return how many outcomes the observed matches may have: 2, 3 with ties, or more grades."""
    constant = data["constant_data"].data_vars if "constant_data" in data.children else ()
    ends = name_of("", DATA), name_of("", COUNTS)
    names = {str(x).removesuffix(end) for x in constant for end in ends if str(x).endswith(end)}
    found = [Kept(data, name) for name in names]
    return {kept[COUNTS].shape[1] for kept in found if COUNTS in kept}
