"""The picture of memberships: its colours are the probabilities, its order says who is of what."""

import numpy as np
import pytest
import xarray as xr

from bayesrank.plots import plot_components
from tests.plots.pictures import (
    apart,
    axes_of,
    boxes,
    figure_of,
    inside,
    legend_of,
    names_of,
)

P = np.array([[0.2, 0.8], [0.9, 0.1], [0.6, 0.4], [0.0, 1.0]])


def memberships(p=P, names=("ann", "bob", "cy", "dan"), components=("sweet", "sour")):
    coords = {"ranker": list(names), "component": list(components)}
    return xr.DataArray(p, dims=("ranker", "component"), coords=coords)


def test_bars_are_probabilities_by_component_the_surest_first_and_the_own_component_at_the_bottom():
    pc = plot_components(memberships())
    assert names_of(axes_of(pc), "x") == ["bob", "cy", "dan", "ann"]
    bars = plot_components(memberships(), backend="none").viz["probability"]["probability"]
    sweet, sour = bars.to_numpy()
    np.testing.assert_allclose(sweet["y_top"][::2], [0.9, 0.6, 1.0, 1.0])
    np.testing.assert_allclose(sweet["y_bottom"][::2], [0.0, 0.0, 1.0, 0.8])
    np.testing.assert_allclose(sour["y_top"][::2], [1.0, 1.0, 1.0, 0.8])
    np.testing.assert_allclose(sour["y_bottom"][::2], [0.9, 0.6, 0.0, 0.0])


def test_the_legend_counts_who_is_most_probably_of_each_component():
    assert legend_of(plot_components(memberships())) == ["sweet (2)", "sour (2)"]


def test_many_people_have_no_names_and_are_counted():
    p = np.random.default_rng(1).dirichlet([0.5, 0.5, 0.5], size=3000)
    drawn = plot_components(memberships(p, range(3000), range(3)).rename(ranker="voter"))
    assert names_of(axes_of(drawn), "x") == []
    assert axes_of(drawn).get_xlabel() == "3,000 voters, by component, the most certain first"


@pytest.mark.parametrize("n", [2, 40])
def test_names_can_be_read(n):
    names = [f"A ranker with a name that is long, number {i}" for i in range(n)]
    p = np.random.default_rng(1).dirichlet(np.ones(8), size=n)
    pc = plot_components(memberships(p, names, [f"type {g}" for g in range(8)]))
    ax, figure = axes_of(pc), figure_of(pc)
    found = boxes(ax, "x")
    assert len(found) == n
    assert apart(found)
    legend = pc.viz["legend"].item().get_window_extent()
    assert inside(figure, [*found, legend])
    assert not legend.overlaps(ax.get_window_extent())


def test_invalid_probabilities_raise():
    for message, arguments in [
        ("it must have 'taste' and one other", {"dim": "taste"}),
        (
            "it must have 'component' and one other",
            {"probabilities": memberships().expand_dims("draw")},
        ),
        (
            "There are 9 components",
            {"probabilities": memberships(np.eye(4, 9), components=range(9))},
        ),
        (r"of ranker 'bob' sum to 0.5", {"probabilities": memberships(P * [[1], [0.5], [1], [1]])}),
    ]:
        with pytest.raises(ValueError, match=message):
            plot_components(**({"probabilities": memberships()} | arguments))
