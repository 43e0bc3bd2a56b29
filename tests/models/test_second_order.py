"""Second-order features: against scikit-learn's own products, and bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

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


def test_a_threshold_of_zero_keeps_all_products_that_vary_and_one_keeps_none(rng):
    x, y = documents(rng)
    assert SecondOrderFeatures(0).fit_transform(x, y).shape == (200, 6 + 15)
    assert SecondOrderFeatures(1).fit_transform(x, y).shape == (200, 6)


def test_a_negative_correlation_counts_as_much(rng):
    x, y = documents(rng)
    up, down = (SecondOrderFeatures(0.3).fit(x, sign * y) for sign in (1, -1))
    np.testing.assert_array_equal(up.pairs_, down.pairs_)
    np.testing.assert_allclose(up.correlation_, -down.correlation_)


def test_what_was_found_on_training_rows_is_applied_to_others(rng):
    x, y = documents(rng)
    second = SecondOrderFeatures(0.25).fit(x, y)
    np.testing.assert_array_equal(second.transform(x[:7]), second.transform(x)[:7])
    assert second.transform(x[:1]).shape == (1, 6 + len(second.pairs_))


def test_it_is_a_transformer_like_others(rng):
    x, y = documents(rng)
    prepare = make_pipeline(SecondOrderFeatures(0.25), StandardScaler())
    z = clone(prepare).set_params(secondorderfeatures__threshold=0.3).fit_transform(x, y)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
    table = pd.DataFrame(x, columns=[*"abcdef"])
    named = SecondOrderFeatures(0.25).set_output(transform="pandas").fit_transform(table, y)
    assert list(named.columns[:7]) == ["a", "b", "c", "d", "e", "f", "a a"]


@pytest.mark.parametrize("threshold", [-0.1, 1.1, np.nan])
def test_a_threshold_that_is_no_correlation_raises(threshold):
    with pytest.raises(ValueError, match=rf"^`threshold` is {threshold}; .*between 0 and 1\.$"):
        SecondOrderFeatures(threshold).fit([[1.0], [2.0]], [0, 1])


def test_features_of_another_number_or_that_are_none_raise():
    second = SecondOrderFeatures().fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])
    with pytest.raises(ValueError, match=r"X has 3 features, .*expecting 2"):
        second.transform([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match="Input X contains NaN"):
        SecondOrderFeatures().fit([[1.0], [np.nan]], [0, 1])
