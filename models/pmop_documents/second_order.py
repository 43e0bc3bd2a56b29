r"""Choose products of features that correlate with the grades, for a linear utility.

The example has two features. It keeps all three products: the two squares and the mixed product.

>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> prepare = make_pipeline(SecondOrderFeatures(threshold=0.5), StandardScaler())
>>> features = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
>>> prepare.fit_transform(features, [0, 0, 1, 0]).shape
(4, 5)
"""

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import r_regression
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["SecondOrderFeatures"]


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
            The fitted transformer.

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
        # Products of one feature at a time: all together would be F/2 times the data.
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
        """Name the features: the name of a product has its factors, separated by a blank.

        Parameters
        ----------
        input_features : list of str, optional
            Names of the features; by default the names of the fitted table, or x0, x1, ...

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
