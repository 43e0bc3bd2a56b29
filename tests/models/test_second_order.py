"""Second-order features: against scikit-learn's own products, and bad input."""

import numpy as np
import pytest
from sklearn.preprocessing import PolynomialFeatures

from models.pmop_documents.second_order import SecondOrderFeatures


def documents(rng, n_rows=200, n_features=6):
    x = rng.uniform(size=(n_rows, n_features))
    x[:, 3] = 0.0  # as five of the 46 features of MQ2008 are
    y = np.round(3 * x[:, 0] * x[:, 1] + rng.normal(scale=0.2, size=n_rows))
    return x, y


def test_the_products_kept_are_those_above_the_threshold(rng):
    x, y = documents(rng)
    products = PolynomialFeatures(2, include_bias=False)
    everything = products.fit_transform(x)
    # the product of a feature and itself is called "x0^2" there
    names = [n.replace("x0^2", "x0 x0") for n in products.get_feature_names_out()]
    with np.errstate(invalid="ignore"):
        r = np.nan_to_num(np.corrcoef(everything.T, y)[-1, :-1])
    kept = [*range(6), *(f for f in range(6, len(r)) if abs(r[f]) > 0.25)]
    second = SecondOrderFeatures(0.25).fit(x, y)
    np.testing.assert_allclose(second.transform(x), everything[:, kept], rtol=1e-15)
    np.testing.assert_allclose(second.correlation_, r[kept[6:]], rtol=1e-12)
    got = [n.replace("x1 x1", "x1^2") for n in second.get_feature_names_out()]
    assert got == [names[f] for f in kept]
    assert 6 < len(kept) < len(r)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan])
def test_a_threshold_that_is_no_correlation_raises(threshold):
    with pytest.raises(ValueError, match=rf"^`threshold` is {threshold}; .*between 0 and 1\.$"):
        SecondOrderFeatures(threshold).fit([[1.0], [2.0]], [0, 1])
