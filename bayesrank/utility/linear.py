r"""Linear utilities of features, and features worth having.

.. math:: w_i = \sum_f x_{if}\, \beta_f

The features go through transformers of scikit-learn, fitted on the training part only: products
of features that correlate with the grades (`SecondOrderFeatures`), then a common scale, which is
what a ridge penalty or a prior with one scale presupposes:

>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> prepare = make_pipeline(SecondOrderFeatures(threshold=0.5), StandardScaler())
>>> prepare.fit_transform([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], [0, 0, 1, 0]).shape
(4, 5)

Features of rankings are padded, (n_rankings, n_slots, n_features): `transform_slots` takes them
through a transformer that knows rows only. An intercept has no place here: a constant added to
all utilities of a ranking changes nothing.
"""

from collections.abc import Iterable
from typing import Any, Protocol, Self

import numpy as np
import pytensor.tensor as pt
from numpy.typing import ArrayLike, NDArray
from pytensor.tensor import TensorVariable
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import r_regression
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["SecondOrderFeatures", "linear_utility", "standardise_within", "transform_slots"]


class _Transformer(Protocol):
    def transform(self, X: Any) -> Any: ...


def linear_utility(features: Any, coefficient: Any) -> TensorVariable:
    r"""Weigh features into a utility, :math:`w = \sum_f x_f \beta_f`, as a graph.

    Parameters
    ----------
    features : tensor_like of float, (..., n_features)
        By item (n_items, n_features), or by slot (n_rankings, n_slots, n_features). By item takes
        less memory: nothing is padded.
    coefficient : tensor_like of float, (..., n_features)
        Change of utility per unit of each feature.

    Returns
    -------
    TensorVariable, (...)

    Notes
    -----
    A sum of products and not a matrix product: BLAS would share even a small one among threads,
    which costs more than it gives where a sampler runs chains beside each other.

    Examples
    --------
    >>> linear_utility([[1.0, 0.5], [0.0, 2.0]], [3.0, -1.0]).eval().tolist()
    [2.5, -2.0]
    """
    return pt.sum(pt.as_tensor_variable(features) * pt.as_tensor_variable(coefficient), axis=-1)


class SecondOrderFeatures(TransformerMixin, BaseEstimator):
    r"""Append the products of features that correlate with a target.

    .. math:: x_1, \dots, x_F, \quad x_a x_b \text{ for } a \le b \text{ with }
              |\operatorname{corr}(x_a x_b, y)| > \rho

    The correlation (Pearson's) is taken once, over all training rows. All features themselves stay.

    Parameters
    ----------
    threshold : float
        The threshold :math:`\rho`, from 0 (all products that are not constant) to 1 (none).

    Attributes
    ----------
    pairs_ : array of int, shape (n_products, 2)
        Positions of the two factors of each product.
    correlation_ : array, shape (n_products,)
        Their correlations with the target.

    References
    ----------
    Tran, Phung & Venkatesh, Modelling human preferences for ranking and collaborative filtering: a
    probabilistic ordered partition approach (the threshold).

    Examples
    --------
    >>> x = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
    >>> second = SecondOrderFeatures(threshold=0.7).fit(x, [0, 0, 1, 0])
    >>> second.get_feature_names_out(["tf", "idf"]).tolist()
    ['tf', 'idf', 'tf idf']
    >>> second.transform([[2.0, 3.0]]).tolist()
    [[2.0, 3.0, 6.0]]
    """

    def __init__(self, threshold: float = 0.1) -> None:
        self.threshold = threshold

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the products to keep.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)
            Features of the training rows.
        y : array, shape (n_rows,)
            The target: grades, ratings, or ranks.

        Returns
        -------
        SecondOrderFeatures
            Itself.

        Raises
        ------
        ValueError
            If the threshold is not between 0 and 1, or the data are not finite numbers.
        """
        if not 0 <= self.threshold <= 1:
            raise ValueError(
                f"`threshold` is {self.threshold!r}; a correlation must exceed it, so it must lie "
                "between 0 and 1."
            )
        x, target = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        pairs, correlations = [], []
        # One feature's products at a time: all of them together would be F/2 times the data.
        for a in range(x.shape[1]):
            r = r_regression(x[:, [a]] * x[:, a:], target)
            kept = np.flatnonzero(np.abs(r) > self.threshold)
            pairs.append(np.column_stack([np.full_like(kept, a), a + kept]))
            correlations.append(r[kept])
        self.pairs_ = np.concatenate(pairs)
        self.correlation_ = np.concatenate(correlations)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Append the products kept.

        Parameters
        ----------
        X : array, shape (n_rows, n_features)

        Returns
        -------
        array, shape (n_rows, n_features + n_products)
        """
        check_is_fitted(self)
        x = validate_data(self, X, reset=False, dtype=np.float64)
        return np.hstack([x, x[:, self.pairs_[:, 0]] * x[:, self.pairs_[:, 1]]])

    def get_feature_names_out(self, input_features: Iterable[str] | None = None) -> NDArray[Any]:
        """Name the features: a product is called by its factors, with a blank between.

        Parameters
        ----------
        input_features : list of str, optional
            Names of the features; by default those of the table it was fitted on, or x0, x1, ...

        Returns
        -------
        array of str
        """
        check_is_fitted(self)
        names = input_features
        if names is None:
            default = [f"x{f}" for f in range(self.n_features_in_)]
            names = getattr(self, "feature_names_in_", default)
        names = [str(name) for name in names]
        return np.array([*names, *(f"{names[a]} {names[b]}" for a, b in self.pairs_)], dtype=object)


def transform_slots(
    transformer: _Transformer, features: ArrayLike, where: ArrayLike
) -> NDArray[np.float64]:
    """Take the features of rankings through a fitted transformer.

    Parameters
    ----------
    transformer : fitted transformer of scikit-learn
        Such as a pipeline, fitted on ``features[where]`` of the training rankings.
    features : array, shape (n_rankings, n_slots, n_features)
        ``rankings.features``.
    where : array of bool, shape (n_rankings, n_slots)
        Slots in use: ``rankings.mask``.

    Returns
    -------
    array, shape (n_rankings, n_slots, n_features_out)
        Zero in empty slots.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> features, where = np.array([[[1.0], [3.0]], [[5.0], [0.0]]]), [[True, True], [True, False]]
    >>> scaler = StandardScaler(with_std=False).fit(features[where])
    >>> transform_slots(scaler, features, where)[..., 0].tolist()
    [[-2.0, 0.0], [2.0, 0.0]]
    """
    x, used = _slots(features, where)
    rows = np.asarray(transformer.transform(x[used]), dtype=np.float64)
    out = np.zeros((*used.shape, rows.shape[1]))
    out[used] = rows
    return out


def standardise_within(features: ArrayLike, where: ArrayLike) -> NDArray[np.float64]:
    r"""Standardise features within each ranking: mean zero, variance one over its items.

    What features are worth differs between queries or races (lengths, counts of links): this takes
    level and spread of each away, from test rankings as well, for it needs no labels. Features
    that came scaled by query, as those of LETOR, need it not.

    Parameters
    ----------
    features : array, shape (n_rankings, n_slots, n_features)
        ``rankings.features``.
    where : array of bool, shape (n_rankings, n_slots)
        Slots in use: ``rankings.mask``.

    Returns
    -------
    array, shape (n_rankings, n_slots, n_features)
        Zero in empty slots, and where a feature is the same for all items of a ranking.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> features, where = [[[1.0], [3.0], [0.0]]], [[True, True, False]]
    >>> standardise_within(features, where)[..., 0].tolist()
    [[-1.0, 1.0, 0.0]]
    """
    x, used = _slots(features, where)
    used = used[..., None]
    n = np.maximum(used.sum(axis=1, keepdims=True), 1)
    centred = np.where(used, x - np.sum(x, axis=1, keepdims=True, where=used) / n, 0.0)
    spread = np.sqrt(np.sum(centred**2, axis=1, keepdims=True) / n)
    # what is constant has a spread of rounding only
    varies = spread > 1e-12 * np.abs(x).max(axis=1, keepdims=True, initial=0.0, where=used)
    return np.where(varies, centred / np.where(varies, spread, 1.0), 0.0)


def _slots(features: ArrayLike, where: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    x, used = np.asarray(features, dtype=np.float64), np.asarray(where, dtype=bool)
    if x.ndim != 3 or x.shape[:2] != used.shape:
        raise ValueError(
            f"`features` must have shape (n_rankings, n_slots, n_features) and `where` "
            f"(n_rankings, n_slots); got {x.shape} and {used.shape}."
        )
    return x, used
