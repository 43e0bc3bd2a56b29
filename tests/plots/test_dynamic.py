"""The picture of strengths that change."""

import numpy as np
import pytest
import xarray as xr

import bayesrank as br


@pytest.fixture
def draws():
    rng = np.random.default_rng(1)
    values = rng.normal([2.0, 1.0, 0.0], 0.5, size=(2, 100, 4, 3))
    values[:, :, :2, 1] = np.nan  # comes in later
    values[:, :, 3, 2] += 10
    return xr.DataArray(
        values,
        dims=("chain", "draw", "year", "item"),
        coords={"item": [*"abc"], "year": [2001, 2002, 2004, 2005]},
        name="utility",
    )


def test_lines_are_means_from_where_an_item_comes_in(draws):
    pc = br.plot_dynamic(draws.to_dataset())
    lines = list(pc.viz["line"]["utility"].values)
    of = {line.get_color(): line for line in lines}
    assert [len(line.get_xdata()) for line in lines] == [4, 4, 2]
    assert len(of) == 3
    # best at the last time first
    relative = draws - draws.mean("item")  # to the items that are present
    expected = relative.sel(item="c").mean(["chain", "draw"])
    np.testing.assert_allclose(lines[0].get_ydata(), expected)
    level = xr.DataArray(np.arange(4.0) * 100, dims="year")  # a common level does not show
    moved = br.plot_dynamic(draws + level).viz["line"]["utility"].values[0]
    np.testing.assert_allclose(moved.get_ydata(), expected)
    assert lines[2].get_xdata().tolist() == [2004, 2005]


def test_ranks_are_among_those_that_are_there(draws):
    pc = br.plot_dynamic(draws, show="rank", coords={"item": ["a", "b"]})
    a, b = pc.viz["line"]["utility"].values
    assert (b.get_ydata() >= 1).all()
    assert a.get_ydata()[0] < 1.1
    assert a.get_ydata()[3] >= 2
    ax = pc.get_target("utility", {})
    assert ax.yaxis_inverted()


def test_areas_are_probabilities_to_be_best(draws):
    pc = br.plot_dynamic(draws, show="best", max_items=2)
    texts = [text.get_text() for text in pc.viz["legend"].item().get_texts()]
    assert texts[:1] == ["a"]
    assert set(texts) <= {"a", "c", "all others"}
    top = pc.viz["area"]["utility"].values[-1].get_paths()[0].vertices[:, 1].max()
    assert top == pytest.approx(1.0)


def test_data_that_cannot_be_plotted_raise(draws):
    with pytest.raises(
        ValueError, match="`show` is 'mean'; it must be 'utility', 'rank' or 'best'"
    ):
        br.plot_dynamic(draws, show="mean")
    with pytest.raises(ValueError, match=r"^'utility' has the dims \['chain', 'draw', 'item'\];"):
        br.plot_dynamic(draws.isel(year=0))
    with pytest.raises(ValueError, match=r"^'utility' has 1 time; the plot needs two or more\."):
        br.plot_dynamic(draws.isel(year=[0]))
    with pytest.raises(ValueError, match="no variable 'u'"):
        br.plot_dynamic(draws.to_dataset(), "u")
