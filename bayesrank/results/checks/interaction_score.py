r"""Score tests: whether the utilities of the items differ by a label, or change over time.

Every ranking or match is split into comparisons of two items. If they are not tied, item i is ahead
of item j with probability :math:`\sigma(u_i - u_j + h)`. The advantage of the first item of a match
is h. This holds for matches (Bradley-Terry, and Davidson without its ties) and for
two items of a ranking (Plackett-Luce). A ranking of m items counts each comparison 2/m, so that it
has the weight of m - 1 comparisons.

Under the alternative, unit k has the utilities :math:`u + \sum_b B_{kb} \delta_b`, where B is a
basis: indicators of labels, or functions of time. The score of :math:`\delta_b` is

.. math:: s_b = \sum_k B_{kb} g_k, \qquad g_k = \sum_{(i, j)} w (1 - p_{ij}) (e_i - e_j)

The sum is over the comparisons of unit k in which i is ahead of j. The part of s that
estimated utilities and advantages explain is subtracted (the effective score). The statistic is

.. math:: T = \sum_b s_b^\top (A_b + \tau_b^{-2} I)^{-1} s_b

where A is the information. It has the most power against normal deviations with standard deviation
:math:`\tau_b`.

Its null distribution comes from flipping the signs of the contributions of units. The design stays
as it is: which items meet under a label, and how often. So a label that decides which items are
shown raises no alarm. Contributions of units with more variance than the model expects keep that
variance. Units that belong to one cluster, such as a judge, flip together.

References
----------
Hemerik, Goeman and Finos, Robust testing in generalized linear models by sign flipping score
contributions, Journal of the Royal Statistical Society B 82, 2020.
Besag and Clifford, Sequential Monte Carlo p-values, Biometrika 78, 1991.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse import csr_array
from scipy.special import expit

__all__ = ["Comparisons", "Tested", "fitted", "score_test"]

PRIOR = 1 / 9.0  # precision of utilities in the fit: weak
BATCHES = 256  # sums of units that flip together
MOST_FLIPS, AT_ONCE = 9_999, 333
ENOUGH = 20  # flips at least as extreme as the data, after which p is known well enough
STEPS, PRECISE = 50, 1e-9

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Comparisons(NamedTuple):
    """Comparisons in which one item is ahead of another, one or several per row of the data."""

    ahead: Ints  # (n,) item
    behind: Ints  # (n,) item
    home: Floats  # (n,) 1 if the item ahead has the advantage, -1 if the other one has, else 0
    size: Floats  # (n,) weight within its row
    row: Ints  # (n,)
    times: Ints  # (n_rows,) number of independent rankings or matches that the row stands for
    weight: Floats  # (n_rows,) weight of each of them
    n_items: int


class Tested(NamedTuple):
    """Result of a score test."""

    statistic: float
    p: float
    n_units: int


def fitted(
    data: Comparisons, times: Floats, *, prior: Floats | None = None, precision: float = PRIOR
) -> tuple[Floats, float]:
    """Find utilities and advantage by Newton's method; `times` replaces those of the rows.

    Utilities have a normal prior around `prior`, 0 by default.
    """
    n = data.n_items
    centre = np.zeros(n) if prior is None else prior
    amount = data.size * (times * data.weight)[data.row]
    x = np.append(centre, 0.0)
    for _ in range(STEPS):
        lead = x[data.ahead] - x[data.behind] + x[n] * data.home
        p = expit(lead)
        slope = _scores(data, amount * (1 - p))
        slope -= precision * np.append(x[:n] - centre, x[n])
        curve = _information(data, amount * p * (1 - p)) + precision * np.eye(n + 1)
        step = np.linalg.solve(curve, slope)
        x = x + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
        if np.abs(step).max() < PRECISE:
            break
    return x[:n], float(x[n])


def score_test(
    data: Comparisons,
    basis: Floats,
    spread: Floats,
    cluster: Ints | None,
    rng: np.random.Generator,
) -> Tested:
    """Test whether utilities depend on the columns of a basis.

    Parameters
    ----------
    data : Comparisons
    basis : array, shape (n_rows, n_columns)
        Rows of zeros are left out.
    spread : array, shape (n_columns,)
        Standard deviation of the deviations under the alternative.
    cluster : array, shape (n_rows,), optional
        Rows that are not independent of each other have the same number.
    rng : Generator
    """
    n, n_columns = data.n_items, basis.shape[1]
    known = basis.any(axis=1)
    times = np.where(known, data.times, 0)
    utility, advantage = fitted(data, times.astype(np.float64))
    p = expit(utility[data.ahead] - utility[data.behind] + advantage * data.home)
    amount = data.size * data.weight[data.row]
    residual = amount * (1 - p)
    curve = amount * times[data.row] * p * (1 - p)

    # contributions of the rows to the scores of utilities and of the advantage
    shape = (len(times), n + 1)
    at = np.concatenate([data.ahead, data.behind, np.full(len(data.row), n)])
    values = np.concatenate([residual, -residual, residual * data.home])
    scores = csr_array((values, (np.tile(data.row, 3), at)), shape=shape)
    batches = _batches(times, cluster, rng)
    n_batches = batches.shape[0]

    # the nuisance: utilities, and the advantage under each column
    blocks = [_information(data, curve * basis[data.row, k]) for k in range(n_columns)]
    squares = [_information(data, curve * basis[data.row, k] ** 2) for k in range(n_columns)]
    nuisance = n + 1 + n_columns
    inner = np.zeros((nuisance, nuisance))
    inner[: n + 1, : n + 1] = _information(data, curve)
    for k in range(n_columns):
        inner[: n + 1, n + 1 + k] = inner[n + 1 + k, : n + 1] = blocks[k][:, n]
        for m in range(n_columns):
            both = basis[data.row, k] * basis[data.row, m]
            inner[n + 1 + k, n + 1 + m] = (curve * both * data.home**2).sum()
    inner[np.diag_indices(nuisance)] += PRIOR
    whole = batches @ scores
    parts = [(batches * basis[:, k]) @ scores for k in range(n_columns)]
    common = np.column_stack([whole.toarray(), *(part.toarray()[:, [n]] for part in parts)])
    # the share of a row's variance that the fit leaves over
    left = 1 - _leverage(inner, data, curve, times)
    explained = np.linalg.solve(inner, common.T).T

    gram = np.zeros((n_batches, n_batches))
    for k in range(n_columns):
        cross = np.zeros((n, nuisance))
        cross[:, : n + 1] = blocks[k][:n]
        for m in range(n_columns):
            cross[:, n + 1 + m] = _information(
                data, curve * basis[data.row, k] * basis[data.row, m]
            )[:n, n]
        effective = parts[k].toarray()[:, :n] - explained @ cross.T
        root = cholesky(squares[k][:n, :n] + np.eye(n) / spread[k] ** 2, lower=True)
        scaled = solve_triangular(root, effective.T, lower=True)
        gram += scaled.T @ scaled
    return Tested(*_flipped(gram, left, rng), n_batches)


def _flipped(gram: Floats, left: float, rng: np.random.Generator) -> tuple[float, float]:
    """Return the statistic, and how often random signs give one as large.

    Residuals vary less than errors, by the factor `left`, but the statistic itself does not.
    """
    value = float(gram.sum())
    if not len(gram) or value <= 0:
        return value, 1.0
    limit = value * left
    done = large = 0
    while done < MOST_FLIPS and large < ENOUGH:
        signs = 2.0 * rng.integers(2, size=(AT_ONCE, len(gram)), dtype=np.int8) - 1.0
        drawn = ((signs @ gram) * signs).sum(axis=1)
        large += int((drawn >= limit * (1 - 1e-12)).sum())
        done += AT_ONCE
    return value, (1 + large) / (1 + done)


def _leverage(inner: Floats, data: Comparisons, curve: Floats, times: Ints) -> float:
    """Return the share of the variance of residuals that estimated parameters take up."""
    total = max(float((times > 0) @ times), 1.0)
    n = data.n_items
    information = inner[: n + 1, : n + 1] - PRIOR * np.eye(n + 1)
    used = float(np.trace(np.linalg.solve(inner[: n + 1, : n + 1], information)))
    per_row = float(data.size.sum()) / max(len(data.times), 1)
    return min(used / (total * max(per_row, 1e-12)), 0.9)


def _scores(data: Comparisons, residual: Floats) -> Floats:
    """Sum residuals by item, and for the advantage, (n_items + 1,)."""
    n = data.n_items
    by_item = np.bincount(data.ahead, residual, n) - np.bincount(data.behind, residual, n)
    return np.append(by_item, residual @ data.home)


def _information(data: Comparisons, curve: Floats) -> Floats:
    """Sum the information of comparisons about utilities and advantage, (n + 1, n + 1)."""
    n = data.n_items
    met = np.bincount(data.ahead * n + data.behind, curve, n * n).reshape(n, n)
    met = met + met.T
    out = np.zeros((n + 1, n + 1))
    out[:n, :n] = np.diag(met.sum(axis=1)) - met
    home = curve * data.home
    out[:n, n] = np.bincount(data.ahead, home, n) - np.bincount(data.behind, home, n)
    out[n, :n] = out[:n, n]
    out[n, n] = home @ data.home
    return out


def _batches(times: Ints, cluster: Ints | None, rng: np.random.Generator) -> csr_array:
    """Put independent units into at most `BATCHES` batches at random: (n_batches, n_rows)."""
    row = np.repeat(np.arange(len(times)), times)
    if cluster is None:
        place = rng.permutation(len(row))
    else:
        _, unit = np.unique(cluster[row], return_inverse=True)
        place = rng.permutation(int(unit.max(initial=-1)) + 1)[unit]
    batch = place % BATCHES
    n = min(int(place.max(initial=-1)) + 1, BATCHES)
    return csr_array((np.ones(len(row)), (batch, row)), shape=(n, len(times)))
