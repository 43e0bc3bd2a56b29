"""The dims of expressions: the axes of the variables, followed through operations."""

import numpy as np
import pymc as pm
import pymc.dims as pmd
import pytensor.tensor as pt
import pytest

import bayesrank as br
from bayesrank.distributions.core.expressions import follow_dims

COORDS = {"driver": [*"dbca"], "item": [*"abcd"], "feature": ["x", "y"], "season": [1, 2, 3]}
# r: utilities by season and driver; u: by driver; x: features of drivers; b: slopes
EXPRESSIONS = {
    "u - u.mean()": ("driver",),
    "mu + s * u": ("driver",),
    "x @ b": ("driver",),
    "u + x @ b - (x @ b).mean()": ("driver",),
    "pt.exp(u) / pt.exp(u).sum()": ("driver",),
    "u + np.arange(4)": ("driver",),
    "pt.cast(u, 'int64')": ("driver",),
    "pt.switch(u > 0, u, 0)": ("driver",),
    "r": ("season", "driver"),
    "r.T": ("driver", "season"),
    "r - r.mean(axis=1, keepdims=True)": ("season", "driver"),
    "r.sum(axis=0)": ("driver",),
    "r[0]": ("driver",),
    "r[:, 1]": ("season",),
    "r[1:]": (None, "driver"),
    "r[[2, 0, 1]]": (None, "driver"),
    "r[season_of_driver]": ("driver", "driver"),
    "r[0, season_of_driver]": ("driver",),
    "by_season[season_of_driver] + u": ("driver",),
    "by_season[:, None] + u": ("season", "driver"),
    "pt.outer(by_season, u)": ("season", "driver"),
    "(x @ b_by_season).T": ("season", "driver"),
    "three @ b": ("season", "driver"),
    "three[season_of_driver, :, [0, 1, 0, 1]]": ("driver", "driver"),
    "three[0, :, [0, 1]]": (None, "driver"),
    "pt.zeros((3, 4)) + u": (None, "driver"),
    "pt.full((3, 4), u)": (None, "driver"),
    "pt.stack([u, -u])": (None, "driver"),
    "pt.concatenate([r, r], axis=0)": (None, "driver"),
    "pm.math.softmax(r, axis=1)": ("season", "driver"),
    "pt.cumsum(r, axis=0)": ("season", "driver"),
    "pt.specify_shape(u, (4,))": ("driver",),
    "u[0].set(0)": ("driver",),
    "from_u * 2": ("driver",),
    "deterministic + 1": ("driver",),
    "with_dims.values - 1": ("driver",),
    "pt.concatenate([[0.0], u[1:]])": None,
    "u[::-1]": None,
    "pt.sort(u)": None,
    "u.reshape((2, 2))": None,
    "u.sum()": None,
    "without": None,
}


def model_of_drivers() -> tuple[pm.Model, dict]:
    with pm.Model(coords=COORDS) as model:
        u = pm.Normal("u", dims="driver")
        scope = {
            "u": u,
            "v": pm.Normal("v", dims="item"),
            "r": pm.Normal("r", dims=("season", "driver")),
            "x": pm.Data("x", np.zeros((4, 2)), dims=("driver", "feature")),
            "three": pm.Normal("three", dims=("season", "driver", "feature")),
            "b": pm.Normal("b", dims="feature"),
            "b_by_season": pm.Normal("b_by_season", dims=("feature", "season")),
            "by_season": pm.Normal("by_season", dims="season"),
            "season_of_driver": pm.Data("season_of_driver", [0, 1, 1, 2], dims="driver"),
            "mu": pm.Normal("mu"),
            "s": pm.HalfNormal("s"),
            "from_u": pm.Normal("from_u", u, 1),
            "deterministic": pm.Deterministic("deterministic", 2 * u),
            "with_dims": pmd.Normal("with_dims", dims="driver"),
            "without": pm.Normal("without", shape=4),
        }
    return model, scope | {"np": np, "pt": pt, "pm": pm}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_dims_of_variables_are_followed_through_an_expression(expression):
    model, scope = model_of_drivers()
    assert follow_dims(model, eval(expression, scope), "It") == EXPRESSIONS[expression]


@pytest.mark.parametrize("expression", ["u + v", "x.T @ v", "u * r[0] - v", "pt.stack([u, v])"])
def test_dims_with_the_same_labels_in_different_orders_cannot_be_combined(expression):
    model, scope = model_of_drivers()
    data = br.Rankings.from_orderings([[*"dbca"]])
    with (
        model,
        pytest.raises(
            ValueError,
            match=r"The utility of 'y' combines the dims 'driver' and 'item' place by place, but "
            r"their labels stand in different orders: 'd', 'b', 'c', 'a'; and 'a', 'b', 'c', 'd'\. "
            "Give both variables the same dim.",
        ),
    ):
        br.PlackettLuce("y", eval(expression, scope), observed=data)


def test_a_dim_and_an_expression_of_it_have_the_same_log_probability():
    rankings = br.Rankings.from_orderings([[*"dbca"], [*"dcba"]])
    for expression in (lambda u: u, lambda u: u - u.mean()):
        with pm.Model(coords={"driver": [*"dbca"]}) as model:
            u = pm.Normal("u", dims="driver")
            y = br.PlackettLuce("y", expression(u), observed=rankings)
        weight = np.exp([3.0, 1.0, 0.0, -2.0])  # of d, b, c and a
        d, b, c, a = weight
        exact = 2 * np.log(d / weight.sum()) + np.log(b * c / (b + c + a) ** 2)
        exact += np.log(c / (c + a)) + np.log(b / (b + a))
        logp = model.compile_logp(vars=y)({"u": [3.0, 1.0, 0.0, -2.0]})
        assert logp == pytest.approx(exact, abs=1e-12)


OBSERVED = {
    "PlackettLuce": lambda u, data: br.PlackettLuce("y", u, observed=data),
    "PMOP": lambda u, data: br.PMOP("y", u, observed=data),
    "BradleyTerry": lambda u, data: br.BradleyTerry("y", u, observed=data),
    "MPM": lambda u, data: br.MPM("y", u, observed=data),
    "Mixture": lambda u, data: br.Mixture("y", [1.0], br.PlackettLuce.dist(u), observed=data),
}


@pytest.mark.parametrize("family", OBSERVED)
def test_new_data_are_read_by_the_labels_of_the_variables_in_an_expression(family):
    """The items of the new data, and those of the dim, stand in other orders."""
    kind = {"BradleyTerry": br.Rankings.pairs, "MPM": br.Rankings.counts}.get(family, lambda r: r)
    old = kind(br.Rankings.from_orderings([[*"dbca"], [*"dcba"]], rankers=["v", "w"]))
    by_label = {"a": -2.0, "b": 1.0, "c": 0.0, "d": 3.0}
    found = []
    for order, items in (("dbca", "bdac"), ("abcd", "abcd")):
        with pm.Model(coords={"driver": [*order]}) as model:
            u = pm.Normal("u", dims="driver")
            y = OBSERVED[family](u - u.mean() + 1, old)
        logp = model.compile_logp(vars=y)
        new = br.Rankings.from_orderings([[*"abcd"], [*"bacd"]], rankers=["v", "w"], items=[*items])
        br.set_observed("y", kind(new), model=model)
        found.append(float(logp({"u": [by_label[x] for x in order]})))
    assert found[0] == pytest.approx(found[1], abs=1e-12)
    if family in ("PlackettLuce", "Mixture"):
        worths = [np.exp([by_label[x] for x in ranked]) for ranked in ("abcd", "bacd")]
        exact = sum(np.log(x[k] / x[k:].sum()) for x in worths for k in range(4))
        assert found[0] == pytest.approx(exact, abs=1e-12)
