"""Linear utilities and features: by hand, against scikit-learn's own products, and bad input."""

import numpy as np
import pandas as pd
import pytensor
import pytensor.tensor as pt
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import bayesrank as br
from bayesrank.utility import (
    SecondOrderFeatures,
    linear_utility,
    standardise_within,
    transform_slots,
)
from tests.oracles import gradient

BACKENDS = ("FAST_COMPILE", "JAX")

# The graph


@pytest.mark.parametrize("mode", BACKENDS)
@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 3)])
def test_a_utility_is_the_sum_of_features_times_coefficients(rng, mode, shape):
    x, beta = rng.normal(size=shape), rng.normal(size=3)
    features, coefficient = pt.constant(x), pt.dvector("coefficient")
    u = linear_utility(features, coefficient)
    f = pytensor.function([coefficient], [u, pt.grad(pt.sum(u**2), coefficient)], mode=mode)
    value, slope = f(beta)
    np.testing.assert_allclose(value, np.einsum("...f,f->...", x, beta), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(
        slope, gradient(lambda b: float(np.sum((x @ b) ** 2)), beta), rtol=1e-7
    )


@pytest.mark.parametrize(
    ("utility", "is_product"), [(linear_utility, False), (lambda x, beta: x @ beta, True)]
)
def test_no_matrix_product_is_left_to_threads(utility, is_product):
    features, coefficient = pt.dmatrix("features"), pt.dvector("coefficient")
    u = utility(features, coefficient)
    f = pytensor.function([features, coefficient], [u, pt.grad(pt.sum(u**2), coefficient)])
    names = {str(node.op).lower() for node in f.maker.fgraph.apply_nodes}
    assert any(blas in name for name in names for blas in ("dot", "gemv", "gemm")) is is_product


# Products


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


# Slots


def rankings_with_features():
    features = pd.DataFrame({"x": [1.0, 3.0, 5.0], "y": [2.0, 2.0, 8.0]}, index=[*"abc"])
    return br.Rankings.from_orderings([["a", "b", "c"], ["c", "a"]], features=features, rest=())


def test_slots_go_through_a_transformer_row_by_row_and_empty_ones_stay_zero():
    r = rankings_with_features()
    scaler = StandardScaler().fit(r.features[r.mask])
    out = transform_slots(scaler, r.features, r.mask)
    assert out.shape == r.features.shape
    # x over the five entries 1 3 5 5 1 has mean 3 and variance 16 / 5
    np.testing.assert_allclose(out[0, :, 0], np.array([-2, 0, 2]) / np.sqrt(16 / 5))
    np.testing.assert_allclose(out[1, :, 0], np.array([2, -2, 0]) / np.sqrt(16 / 5))
    second = SecondOrderFeatures(0).fit(r.features[r.mask], -r.ranks[r.mask])
    products = transform_slots(second, r.features, r.mask)
    assert products[0].tolist() == [[1, 2, 1, 2, 4], [3, 2, 9, 6, 4], [5, 8, 25, 40, 64]]
    assert products[1, 2].tolist() == [0] * 5


def test_features_are_standardised_within_each_ranking():
    r = rankings_with_features()
    out = standardise_within(r.features, r.mask)
    # 1 3 5: mean 3, variance 8 / 3; then 5 1
    expected = [np.array([-2, 0, 2]) / np.sqrt(8 / 3), np.array([1, -1, 0])]
    np.testing.assert_allclose(out[..., 0], expected)
    # 2 2 8: mean 4, variance 8
    np.testing.assert_allclose(out[0, :, 1], np.array([-2, -2, 4]) / np.sqrt(8))


def test_what_is_constant_in_a_ranking_becomes_zero_and_padding_does_not_count():
    features = np.array([[[0.1], [0.1], [0.1], [1e9]], [[7.0], [1e9], [1e9], [1e9]]])
    where = np.array([[True, True, True, False], [True, False, False, False]])
    np.testing.assert_array_equal(standardise_within(features, where), np.zeros((2, 4, 1)))


@pytest.mark.parametrize("function", [standardise_within, lambda x, w: transform_slots(None, x, w)])
@pytest.mark.parametrize("shape", [(2, 3), (2, 4, 1)])
def test_features_that_do_not_fit_the_slots_raise(function, shape):
    with pytest.raises(ValueError, match=r"^`features` must have shape .*\(2, 3\)\.$"):
        function(np.zeros(shape), np.ones((2, 3), dtype=bool))
