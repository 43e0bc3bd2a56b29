"""Predict the next match of two items from the draws of a posterior."""

from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayesrank.match_outcomes import (
    davidson_probabilities,
    grade_derivatives,
    grounded_derivatives,
    rao_kupper_probabilities,
)
from bayesrank.results.draws import SAMPLE, as_chains, single_group
from bayesrank.schema import COUNTS, DATA, GRADE, Kept, name_of

__all__ = ["Matches", "match_probability", "matches_of", "outcome_probability"]

BAD = -4  # ties, and both bad
Floats = NDArray[np.float64]

THETA = "tie_theta"  # tie parameter of Rao and Kupper
THRESHOLD = "threshold"  # utility from which an item is more often good than bad


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
        the observed matches have two outcomes, or there is neither, there are no ties. With
        ``threshold``, both items may be bad (`GroundedRaoKupper`). Effects of items on the
        logarithm of `nu` are read from ``item_tie_effect`` (if `dim` is item).
    dim : str
        The dim of the items.

    Returns
    -------
    DataArray, (dim, dim + "_other", result)
        Posterior means. The results are win, tie and loss of the row's item; without ties, win and
        loss; with a threshold, also both bad. The diagonal is NaN.

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
    results = draws.results
    n, last = len(labels), len(results) - 1
    out = np.full((n, n, len(results)), np.nan)
    for i in range(n - 1):
        out[i, i + 1 :] = draws.outcomes(i, np.arange(i + 1, n)).mean(1)
        out[i + 1 :, i] = out[i, i + 1 :][:, [last, *range(1, last), 0]]
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
    threshold: Floats | None = None  # (n_draws,), if both items may be bad

    @property
    def results(self) -> list[str]:
        """Names of the outcomes."""
        return [
            "win",
            *([] if self.tie is None else ["tie"]),
            *([] if self.threshold is None else ["both bad"]),
            "loss",
        ]

    @property
    def n_outcomes(self) -> int:
        """Number of outcomes: 2, 3 with ties, or 4 if both items may be bad."""
        return len(self.results)

    def outcomes(self, one: Any, other: Any, advantage: ArrayLike = 0.0) -> Floats:
        """Compute the probabilities of the outcomes of matches, (..., n_draws, n_outcomes)."""
        lead = self.utility[one] - self.utility[other] + advantage
        if self.tie is None:
            return outcome_probability(lead)
        if self.threshold is not None:
            p = np.exp(self._grounded(one, other, advantage)[0])
            return np.stack([p[..., k] for k in (0, 2, 3, 1)], axis=-1)
        if self.davidson:
            nu = self.tie * np.exp(self.effect[one] + self.effect[other])
            return outcome_probability(lead, nu)
        win, loss, tie = rao_kupper_probabilities(lead, self.tie)
        return np.stack([win, tie, loss], axis=-1)

    def _grounded(self, one: Any, other: Any, advantage: ArrayLike = 0.0) -> tuple[Floats, Floats]:
        """Compute log-probabilities, and their derivatives by the lead, if both may be bad."""
        assert self.tie is not None  # for the type checker
        lead = self.utility[one] - self.utility[other] + advantage
        level = (self.utility[one] + self.utility[other]) / 2 - self.threshold
        return grounded_derivatives(lead, level, np.exp(self.tie))

    def decided(self, one: int, other: int) -> Floats:
        """Compute the probabilities that one wins, neither does, or the other wins."""
        p = self.outcomes(one, other)
        if self.threshold is None:
            return p
        return np.stack([p[..., 0], p[..., 1] + p[..., 2], p[..., 3]], axis=-1)

    def information(self, one: Any, other: Any) -> Floats:
        """Compute the expected information of matches about the lead, averaged over draws."""
        if self.threshold is not None:
            logp, score = self._grounded(one, other)
            # a tie that is impossible has no information
            return np.asarray((np.exp(logp) * score**2).sum(-1).mean(-1))
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
        bar = None if self.threshold is None else self.threshold[kept]
        return Matches(self.utility[:, kept], tie, effect, self.davidson, bar)


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
    if {THETA, THRESHOLD} <= {*data}:
        must = "Rename the variable if it is not the tie parameter of Rao and Kupper"
        level = np.log(_tie_parameter(data, THETA, 1.0, must))
        threshold = _tie_parameter(data, THRESHOLD, -np.inf, "")
        return Matches(utility, level, effects, False, threshold), labels
    if BAD in n_outcomes:
        raise ValueError(
            f"The votes may say that both items are bad, but the posterior has no {THETA!r} and "
            f"{THRESHOLD!r}, from which the outcomes would follow. `leaderboard_model` has both. "
            "Or add them with pm.Deterministic, each with no dims. Without a threshold it is 0."
        )
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
    """Return how many outcomes the observed matches may have: 2, 3 with ties, or more grades.

    It is `BAD` if both items may be bad.
    """
    constant = data["constant_data"].data_vars if "constant_data" in data.children else ()
    ends = name_of("", DATA), name_of("", COUNTS)
    names = {str(x).removesuffix(end) for x in constant for end in ends if str(x).endswith(end)}
    found = [Kept(data, name) for name in names]
    n_columns = {(GRADE in kept, kept[COUNTS].shape[1]) for kept in found if COUNTS in kept}
    return {BAD if (graded, n) == (False, 4) else n for graded, n in n_columns}
