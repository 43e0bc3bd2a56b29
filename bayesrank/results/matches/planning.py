r"""Choose the matches to play next from a posterior.

The question is which items belong to the best k. Let :math:`T_i` indicate whether item i
does, and let Y be the outcome of a match of two items. The expected gain of the match is the
mutual information, summed over items, in nats:

.. math:: \text{gain} = \sum_i I(Y; T_i)
          = \sum_i \bigl[ \mathrm{H}(T_i) - \mathrm{E}_Y \, \mathrm{H}(T_i \mid Y) \bigr]

It is computed from averages over draws. In a batch, the gain of a match is conditional on the
matches already chosen. Their outcomes are simulated from some of the draws, and reweight all draws.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import entr, rel_entr
from threadpoolctl import threadpool_limits

from bayesrank.data.read import check_whole
from bayesrank.results.draws import places_of
from bayesrank.results.matches.outcomes import Matches, matches_of

__all__ = ["next_matches"]

DRAWS = 2000  # most draws to average over
FUTURES = 32  # simulated outcomes of the matches already chosen in a batch
BLOCK = 2**22  # numbers in a block

Floats = NDArray[np.float64]


def next_matches(
    data: Any,
    n: int = 10,
    *,
    top: int = 1,
    var_name: str = "utility",
    nu: str = "nu",
    dim: str = "item",
    random_seed: int | None = None,
) -> pd.DataFrame:
    """Choose the most informative matches for finding the best items.

    Parameters
    ----------
    data, var_name, nu, dim
        As in `match_probability`.
    n : int
        Number of matches to choose, 1 or more. The same two items may meet more than once.
    top : int
        Number of best items to find: 1 for only the leader; fewer than all items.
    random_seed : int, optional
        Random seed of the simulated outcomes.

    Returns
    -------
    DataFrame
        One row per match, in the order of choice, with the columns item and item_other. ``gain`` is
        the expected gain in nats, given the matches above. ``doubt`` is the total uncertainty in
        nats before any of them, the same in all rows. ``p_better`` is the probability that `item`
        is better than `item_other`.

    Raises
    ------
    ValueError
        For the reasons of `match_probability`, or if `n` or `top` are out of range.

    See Also
    --------
    matches_needed, match_probability

    Examples
    --------
    >>> import numpy as np
    >>> import bayesrank as br
    >>> import xarray as xr
    >>> rng = np.random.default_rng(0)
    >>> draws = xr.DataArray(rng.normal([2.0, 1.5, 1.4, -2.0], 0.3, (1, 2000, 4)),
    ...                      dims=("chain", "draw", "item"), coords={"item": list("abcd")})
    >>> br.next_matches(draws, 1, top=2, random_seed=0)[["item", "item_other"]].values.tolist()
    [['b', 'c']]
    """
    check_whole(n=n, top=top)
    posterior, labels = matches_of(data, var_name, nu, dim)
    n_items, n_draws = posterior.utility.shape
    if top >= n_items:
        raise ValueError(f"`top` is {top}; it must be less than the number of items, {n_items}.")
    one, other = np.triu_indices(n_items, 1)

    kept = np.unique(np.linspace(0, n_draws - 1, min(n_draws, DRAWS)).astype(int))
    draws = posterior.some(kept)
    member = places_of(draws.utility.T).among_best(top)  # (n_draws, n_items)
    unsure = (member.mean(0) > 0) & (member.mean(0) < 1)
    member = member[:, unsure]
    doubt = float((entr(member.mean(0)) + entr(1 - member.mean(0))).sum())

    rng = np.random.default_rng(random_seed)
    weight = np.full((1, len(kept)), 1 / len(kept))  # (n_futures, n_draws)
    truth = rng.integers(len(kept), size=FUTURES)
    log_weight = np.zeros((FUTURES, len(kept)))
    rows = []
    for _ in range(n):
        # with threads, hundreds of small products are much slower
        with threadpool_limits(1, "blas"):
            gain = _gains(draws, member, weight, one, other)
        best = int(gain.argmax())
        i, j = int(one[best]), int(other[best])
        p_better = float((posterior.utility[i] > posterior.utility[j]).mean())
        if p_better < 0.5:
            i, j, p_better = j, i, 1 - p_better
        rows.append((labels[i], labels[j], float(gain[best]), doubt, p_better))
        # simulate its outcome in every future, and reweight the draws
        p = draws.outcomes(i, j)
        result = (rng.random((FUTURES, 1)) > p[truth].cumsum(1)[:, :-1]).sum(1)
        log_weight += np.log(np.maximum(p[:, result].T, np.finfo(float).tiny))
        weight = np.exp(log_weight - log_weight.max(1, keepdims=True))
        weight /= weight.sum(1, keepdims=True)
    return pd.DataFrame(rows, columns=[dim, f"{dim}_other", "gain", "doubt", "p_better"])


def _gains(draws: Matches, member: Floats, weight: Floats, one: Any, other: Any) -> Floats:
    """Compute the expected gain of a match of every pair, (n_pairs,), over the futures."""
    n_draws, n_unsure = member.shape
    out = np.zeros(len(one))
    if not n_unsure:
        return out
    n_outcomes = draws.n_outcomes
    step = max(1, BLOCK // (n_draws * n_outcomes))
    inside = [(w @ member, w[:, None] * member) for w in weight]
    for start in range(0, len(one), step):
        pairs = slice(start, start + step)
        p = draws.outcomes(one[pairs], other[pairs])
        p = p.transpose(1, 0, 2).reshape(n_draws, -1)  # (n_draws, n_pairs * n_outcomes)
        for w, (share, weighted) in zip(weight, inside, strict=True):
            overall = w @ p
            joint = weighted.T @ p  # P(outcome, the item is among the best)
            information = rel_entr(joint, share[:, None] * overall)
            # rounding can make a probability of zero negative
            rest = np.maximum(overall - joint, 0.0)
            information += rel_entr(rest, (1 - share[:, None]) * overall)
            out[pairs] += information.sum(0).reshape(-1, n_outcomes).sum(1)
    return np.maximum(out, 0.0) / len(weight)
