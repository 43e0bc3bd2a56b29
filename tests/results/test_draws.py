"""What all summaries of ranks share: where draws come from, groups, and bad input."""

import arviz as az
import numpy as np
import pytest
import xarray as xr
from scipy.stats import rankdata

from bayesrank.results import (
    consensus_ordering,
    expected_kendall,
    match_probability,
    place_probability,
    rank_draws,
    rank_summary,
    relabel_components,
    share_of_preference,
    tied_with_leader,
    win_probability,
)
from bayesrank.results.draws import check_tops, posterior_utilities, ranks_of
from tests.results.small_posteriors import DRAWS, RANKS, posterior

FUNCTIONS = {
    "rank_draws": rank_draws,
    "rank_summary": rank_summary,
    "rank_summary, simultaneous": lambda u, **k: rank_summary(u, simultaneous=True, **k),
    "place_probability": place_probability,
    "tied_with_leader": tied_with_leader,
    "win_probability": win_probability,
    "consensus_ordering": consensus_ordering,
    "consensus_ordering, copeland": lambda u, **k: consensus_ordering(u, method="copeland", **k),
    "consensus_ordering, kendall": lambda u, **k: consensus_ordering(u, method="kendall", **k),
    "expected_kendall": lambda u, **k: expected_kendall(u, [1, 2, 3], **k),
}

FORMS = {
    "DataArray": lambda u: u,
    "Dataset": lambda u: u.to_dataset(name="utility"),
    "DataTree": lambda u: xr.DataTree.from_dict({"posterior": u.to_dataset(name="utility")}),
    "group of a DataTree": lambda u: xr.DataTree.from_dict(
        {"posterior": u.to_dataset(name="utility")}
    )["posterior"],
}


@pytest.fixture(params=FUNCTIONS)
def function(request):
    return FUNCTIONS[request.param]


def same(one, other):
    return one.equals(other)


# Where draws come from


@pytest.mark.parametrize("form", FORMS)
def test_draws_are_found_in(form, function):
    assert same(function(FORMS[form](posterior())), function(posterior()))


def test_one_chain_is_enough(function):
    chains = posterior()
    one = posterior([[*DRAWS[0], *DRAWS[1]]])
    if function is rank_draws:
        assert function(one).values.tolist() == [[*RANKS[0], *RANKS[1]]]
    else:
        assert same(function(one), function(chains))


def in_posterior(u):
    return xr.DataTree.from_dict({"posterior": u.to_dataset(name="utility")})


def as_draws(u):
    return u.stack(sample=["chain", "draw"]).reset_index("sample").drop_vars(["chain", "draw"])


WITHOUT_CHAINS = {
    "all draws of arviz.extract": lambda u: az.extract(in_posterior(u)),
    "one variable of arviz.extract": lambda u: az.extract(in_posterior(u), var_names="utility"),
    "a dim called draw": lambda u: as_draws(u).rename(sample="draw"),
    "a dim called sample": as_draws,
    "a tree": lambda u: in_posterior(as_draws(u).rename(sample="draw")),
    "a selected chain": lambda u: as_draws(u).rename(sample="draw").assign_coords(chain=1),
}


@pytest.mark.parametrize("form", WITHOUT_CHAINS)
def test_draws_without_chains_are_one_chain(form, function):
    found = function(WITHOUT_CHAINS[form](posterior()))
    if function is rank_draws:
        assert found.transpose("chain", "draw", "item").values.tolist() == [[*RANKS[0], *RANKS[1]]]
    else:
        found = found.drop_vars("chain", errors="ignore") if hasattr(found, "coords") else found
        assert same(found, function(posterior()))


def test_a_random_part_of_the_draws_is_ranked():
    part = az.extract(in_posterior(posterior()), num_samples=3, random_seed=1)
    kept = [(c, d) for c, d in zip(part["chain"].values, part["draw"].values, strict=True)]
    assert rank_draws(part).transpose(..., "item").values.tolist() == [
        [RANKS[c][d] for c, d in kept]
    ]


def test_a_dim_of_groups_may_be_called_sample():
    u = several().rename(user="sample")
    assert rank_draws(u).dims == u.dims
    assert rank_draws(u.isel(chain=0)).dims == ("chain", "problem", "item", "sample", "draw")


def test_parameters_of_matches_and_shares_come_from_arviz_extract():
    tree = in_posterior(posterior())
    tree["posterior"] = tree["posterior"].to_dataset().assign(
        nu=(("chain", "draw"), [[1.0, 2.0], [0.5, 1.5]])
    )  # fmt: skip
    found = match_probability(az.extract(tree))
    assert found.sizes["result"] == 3
    xr.testing.assert_allclose(found, match_probability(tree))
    sets = {"all": ["ale", "bock", "cider"]}
    shares = share_of_preference(az.extract(tree), sets=sets)
    expected = share_of_preference(tree, sets=sets)
    assert shares.sizes["chain"] == 1
    xr.testing.assert_allclose(shares.mean(("chain", "draw")), expected.mean(("chain", "draw")))


def test_components_of_draws_without_chains_are_relabelled():
    low = [[-1.0, 1.0], [1.0, -1.0], [1.1, -0.9]]
    u = xr.DataArray(low, dims=("draw", "component"), coords={"component": [0, 1]})
    u = xr.concat([u, -u], "item").assign_coords(item=["a", "b"])
    found = relabel_components(in_posterior(u)).posterior["utility"]
    assert found.sizes["chain"] == 1
    assert len(np.unique(found.sel(item="a").argmax("component"))) == 1


def test_the_order_of_the_dims_does_not_matter(function):
    turned = function(posterior().transpose("item", "draw", "chain"))
    straight = function(posterior())
    assert same(turned.transpose(*straight.dims) if function is rank_draws else turned, straight)


def test_items_without_names_are_numbered(function):
    plain = xr.DataArray(DRAWS, dims=("chain", "draw", "item"))
    numbered = function(plain.assign_coords(item=[0, 1, 2]))
    found = function(plain)
    if not hasattr(found, "index"):  # xarray's: there a dim without labels stays without
        numbered = numbered.drop_vars(["item", "item_other"], errors="ignore")
    assert same(found, numbered)


def test_the_input_is_left_as_it_was(function):
    u = posterior()
    function(u)
    assert u.identical(posterior())


def test_whole_numbers_and_single_precision_become_doubles():
    for dtype in (np.int64, np.uint8, np.float32):
        u = xr.DataArray([[[0, 2, 1]]], dims=("chain", "draw", "item")).astype(dtype)
        assert posterior_utilities(u, "utility", "item").dtype == np.float64
        assert rank_draws(u).values.tolist() == [[[3, 1, 2]]]


# Groups


def several():
    """Draws with two dims of groups, the dims in no natural order."""
    draws = np.random.default_rng(3).normal(size=(2, 3, 4, 2, 25))
    u = xr.DataArray(
        draws, dims=("problem", "item", "user", "chain", "draw"),
        coords={"item": ["ale", "bock", "cider"], "problem": ["p", "q"], "user": [7, 8, 9, 10]},
    )  # fmt: skip
    return u.assign_coords(strong=("item", [True, False, True]), age=("user", [30, 31, 32, 33]))


def test_every_group_is_summarised_by_itself(function):
    u = several()
    found = function(u)
    for problem in ("p", "q"):
        for user in (7, 10):
            alone = function(u.sel(problem=problem, user=user, drop=True))
            if hasattr(found, "index"):
                assert found.index.names == ["problem", "user", "item"]
                assert same(found.loc[problem, user], alone)
            else:
                part = found.sel(problem=problem, user=user, drop=True)
                dims = alone.dims if isinstance(alone, xr.DataArray) else ()
                assert same(part.transpose(*dims) if dims else part, alone)


def test_groups_come_before_items_and_coordinates_of_both_are_kept():
    p = place_probability(several())
    assert p.dims == ("problem", "user", "item", "place")
    assert p["strong"].dims == ("item",)
    assert p["age"].values.tolist() == [30, 31, 32, 33]
    assert p["place"].values.tolist() == [1, 2, 3]
    assert win_probability(several()).dims == ("problem", "user", "item", "item_other")
    assert consensus_ordering(several()).dims == ("problem", "user", "item")
    assert expected_kendall(several(), [1, 2, 3]).dims == ("problem", "user")
    assert "strong" not in expected_kendall(several(), [1, 2, 3]).coords
    assert tied_with_leader(several())["leader"].dims == ("problem", "user")
    assert tied_with_leader(several())["tied"].dims == ("problem", "user", "item")


@pytest.mark.parametrize(
    ("dim", "call"), [("place", place_probability), ("item_other", win_probability)]
)
def test_a_group_called_as_a_dim_of_the_result_raises(dim, call):
    with pytest.raises(ValueError, match=rf"have a dim '{dim}', .*\.rename\({dim}=\.\.\.\)"):
        call(posterior().expand_dims(dim))


# Ranks and places


@pytest.mark.parametrize("n_items", [1, 2, 7, 3000])
def test_ranks_are_those_of_scipy_with_ties_and_without(n_items):
    rng = np.random.default_rng(n_items)
    for draws in (rng.normal(size=(400, n_items)), rng.integers(-2, 3, (400, n_items)) * 1.0):
        ranks = ranks_of(draws)
        assert ranks.dtype == np.int32
        assert (ranks == rankdata(-draws, method="min", axis=1)).all()


def test_zero_with_a_minus_is_zero():
    assert ranks_of(np.array([[0.0, -0.0, 1.0]])).tolist() == [[2, 2, 1]]


def test_places_asked_for_are_one_or_several():
    assert check_tops(3) == (3,)
    assert check_tops(np.int64(3)) == (3,)
    assert check_tops((10, 3)) == (10, 3)
    assert check_tops(np.array([1, 2])) == (1, 2)


@pytest.mark.parametrize("top", [0, -1, 1.5, np.nan, np.inf, "3", None, [1, 0], [[1]]])
def test_invalid_numbers_of_top_places_raise(top):
    with pytest.raises(ValueError, match=r"^`top` is .*; it must be a whole number, 1 or more\.$"):
        check_tops(top)


@pytest.mark.parametrize("top", [[], (), [3, 3]])
def test_no_place_and_the_same_twice_raise(top):
    with pytest.raises(ValueError, match=r"^`top` is .*; give at least one number, and no"):
        check_tops(top)


# Bad input


def in_tree(**groups):
    return xr.DataTree.from_dict({name: xr.Dataset(x) for name, x in groups.items()})


def with_values(bad):
    u = posterior().copy()
    u[0, 1, :2] = bad
    u[1, 1, 2] = bad
    return u


BAD = [
    (
        in_tree(posterior={"skill": posterior(), "luck": posterior()}), {},
        r"^The posterior has no variable 'utility'; it has \['luck', 'skill'\]\.$",
    ),
    (in_tree(prior={"utility": posterior()}), {}, r"no posterior; it has \['prior'\]\. Pass what"),
    (
        posterior(), {"dim": "driver"},
        r"^'utility' has no dim 'driver'; it has \['chain', 'draw', 'item'\]\. Name the dim of",
    ),
    (posterior().isel(draw=0), {}, r"has no dim 'draw'; it has \['chain', 'item'\]\. Pass d"),
    (posterior().isel(chain=0, draw=0), {}, r"has no dim 'chain'; it has \['item'\]\. Pass d"),
    (
        posterior(name="skill"), {"dim": "driver"},
        r"^'skill' has no dim 'driver'; it has \['chain', 'draw', 'item'\]\. Name the dim of",
    ),
    (posterior(RANKS, name=None), {}, r"^The array holds ranks, .* variable, such as -draws\.$"),
    *(
        (with_values(bad), {}, r"^2 of 4 draws of 'utility' contain NaN or infinite values\. The")
        for bad in (np.nan, np.inf, -np.inf)
    ),
    ({"utility": DRAWS}, {}, r"^Expected a DataTree, .* with draws; got dict\.$"),
    (posterior().isel(draw=[]), {}, r"^'utility' is empty; its sizes are \{'chain': 2, 'dr"),
    (
        posterior(items=("ale", "bock", "ale")), {},
        r"^'item' has the label 'ale' twice; rename one of them\.$",
    ),
    (
        posterior(RANKS), {},
        r"^'utility' holds ranks, 1 = best, .* Pass minus the variable, such as -idata",
    ),
    (posterior(), {"topp": 2}, "unexpected keyword argument 'topp'"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "options", "message"), BAD)
def test_draws_that_cannot_be_summarised_raise(function, data, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        function(data, **options)
