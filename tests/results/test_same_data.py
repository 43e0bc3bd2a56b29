"""Models are compared by what they observed, whatever the order and the names of it."""

import functools

import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results import baseline_elpd, compare
from bayesrank.results.evaluation.same_data import Units, matched
from bayesrank.schema import Kept
from tests.builders import model_of
from tests.fake_draws import fake_draws

ORDERS = [list("abc"), list("bca"), ["c", {"a", "b"}], list("abc"), ["b", "a"], list("cab")]
WHO = ["ann", "bob", "ann", "cy", "bob", "cy"]
MOVED = [4, 2, 0, 5, 1, 3]


def draws(**options):
    """Draws of a model that are close, so that any ranking can be left out."""
    tree = fake_draws(**options)
    tree["posterior"] = tree["posterior"].to_dataset() * 0.05
    return tree


def results(model):
    """Draws of a model, with their log-likelihood."""
    with model:
        tree = named(draws(draws=60), model)
        pm.compute_log_likelihood(tree, progressbar=False)
    return tree


def named(tree, model):
    """Give each item its own draws, by its name, whatever its place on the axis."""
    if model["utility"].ndim == 1 and "item" in model.coords:
        items = list(model.coords["item"])
        utility = tree["posterior"]["utility"]
        moved = utility.isel(item=[sorted(items).index(item) for item in items])
        moved = moved.assign_coords(item=items)
        tree["posterior"] = tree["posterior"].to_dataset().assign(utility=moved)
    return tree


def same(one, other, **options):
    """See that two models are one, ranking by ranking."""
    table = compare({"one": one, "other": other}, baseline=False, **options)
    np.testing.assert_allclose(table[["elpd_diff", "dse"]], 0, atol=1e-9)


def rankings(order=None, *, who=None, items=None, orders=ORDERS, **options):
    """The rankings, or those that are asked for in this order."""
    order = range(len(orders)) if order is None else order
    who = None if who is None else [who[row] for row in order]
    for name in {"count", "weight"} & options.keys():
        options[name] = [options[name][row] for row in order]
    return br.Rankings.from_orderings(
        [orders[row] for row in order], rest=(), rankers=who, items=items, **options
    )


def pairs(rows=(("a", "b"), ("b", "c"), ("a", "b"), ("c", "a")), *, collapse=False):
    """Matches, the winner first."""
    frame = pd.DataFrame(list(rows), columns=["one", "two"]).assign(who="first")
    return br.Pairs.from_frame(
        frame, first="one", second="two", outcome="who", items=list("abc"), collapse=collapse
    )


@functools.cache
def plain():
    """Results of the rankings."""
    return results(model_of(rankings()))


@functools.cache
def judged():
    """Results of the rankings by three rankers."""
    return results(model_of(rankings(who=WHO)))


@functools.cache
def of_all():
    """Results of rankings of all items."""
    return results(model_of(rankings(orders=FULL)))


@functools.cache
def of_pairs():
    """Results of the matches."""
    return results(model_of(pairs(), br.BradleyTerry))


# Order and names


def test_rankings_without_names_are_matched_by_content():
    for one, who in ((plain(), None), (judged(), WHO)):
        same(one, results(model_of(rankings(MOVED, who=who, items=list("cba")))))


def test_other_names_of_rankings_and_rankers_are_the_same_data():
    for names in ([x.title() for x in WHO], [{"ann": 0, "bob": 1, "cy": 2}[x] for x in WHO]):
        other = results(model_of(rankings(MOVED, who=names)))
        for group in (None, "ranker"):
            same(judged(), other, group=group)


def test_names_that_both_have_stand_for_the_same():
    orders, moved = ORDERS[:3], [ORDERS[i] for i in (1, 2, 0)]
    one = results(model_of(rankings(orders=orders, who=["x", "y", "z"])))
    swapped = results(model_of(rankings(orders=moved, who=["x", "y", "z"])))
    with pytest.raises(ValueError, match=r"the rankings are the same, but their labels or ranker"):
        compare({"one": one, "swapped": swapped})
    in_part = results(model_of(rankings(orders=moved, who=["x", "y", "w"])))
    with pytest.raises(ValueError, match=r"are the same, but their labels or ranker differ"):
        compare({"one": one, "in_part": in_part})
    with_z = results(model_of(rankings([1, 2, 0], orders=orders, who=["x", "y", "z"])))
    for group in ("log_likelihood", "constant_data"):
        labels = {"y": "y", "z": "z", "x": "w"}
        data = with_z[group].to_dataset()
        data["ranking"] = [labels[x] for x in data["ranking"].values]
        with_z[group] = xr.DataTree(data)
    same(one, with_z)


def test_the_same_rankings_by_others_together_are_other_data():
    apart = ["Ann", "Bob", "Cy", "Ann", "Bob", "Cy"]  # other pairs of rankings have one ranker
    with pytest.raises(ValueError, match=r"the rankings are the same, but .*ranker differ\. Fit"):
        compare({"one": judged(), "apart": results(model_of(rankings(who=apart)))})


def test_rankings_are_counted_and_weighed():
    one = plain()
    twice = results(model_of(rankings([0, 1, 2, 4, 4, 5])))
    with pytest.raises(ValueError, match=r"'twice' lacks 'a' > 'b' > 'c', ranking 3 of 'one'\."):
        compare({"one": one, "twice": twice})
    weight = [1.0, 2.0, 1.0, 3.0, 1.0, 1.0]
    weighed = results(model_of(rankings(weight=weight)))
    with pytest.raises(ValueError, match=r"'weighed' lacks 'b' > 'c' > 'a', ranking 1 of 'one'"):
        compare({"one": one, "weighed": weighed})
    moved = results(model_of(rankings(MOVED, weight=weight)))
    same(weighed, moved)


def test_counts_are_matched_by_content():
    counts = rankings([0, 1, 4], who=WHO[:5]).counts(), rankings([4, 0, 1], who=WHO[:5]).counts()
    one, other = (results(model_of(x, br.MPM)) for x in counts)
    same(one, other)
    others = rankings([4, 0, 5], who=[*WHO[:5], "bob"]).counts()
    with pytest.raises(ValueError, match=r"'others' lacks 'a' -4, 'b' \+4, ranker 'bob' of 'one'"):
        compare({"one": one, "others": results(model_of(others, br.MPM))})


def test_a_variable_may_have_another_name_in_one_model():
    one, other = plain(), results(model_of(rankings(MOVED), name="z"))
    with pytest.raises(ValueError, match=r"^The results of 'other' have a log-likelihood of 'z',"):
        compare({"one": one, "other": other})
    table = compare({"other": other, "one": one}, var_name={"other": "z"})
    assert table.loc["random ranking", "elpd"] == pytest.approx(-4 * np.log(6) - np.log(3 * 2))
    assert table.loc["one", "elpd_diff"] == pytest.approx(table.loc["other", "elpd_diff"])
    with pytest.raises(
        ValueError, match=r"^`var_name` names the model 'two', which does not exist\."
    ):
        compare({"one": one}, var_name={"two": "z"})


def units(rng, n, *, n_contents=3, n_rankers=3, by_name):
    """Units with few contents, so that many are alike, of a few rankers."""
    contents = rng.choice(list("uvwxyz")[:n_contents], n).astype(object)
    who = rng.choice(list("ABCDEF")[:n_rankers] if by_name else n_rankers, n)
    return Units("ranking", np.arange(n), contents, {"ranker": who})


def under_other_names(rng, one, *, keep):
    """The same units in another order, the rankers under other names or their own."""
    order = rng.permutation(len(one.labels))
    who, codes = np.unique(one.groups["ranker"], return_inverse=True)
    names = who if keep else rng.permutation([f"ranker {i}" for i in range(len(who))])
    return one._replace(contents=one.contents[order], groups={"ranker": names[codes][order]})


def bags(x):
    """What each ranker said, whoever that is."""
    return sorted(sorted(x.contents[x.groups["ranker"] == who]) for who in set(x.groups["ranker"]))


def are_matched(one, other):
    try:
        matched("one", one, "other", other)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("keep", [True, False])
def test_units_are_matched_one_to_one_by_content_and_ranker(rng, by_name, keep):
    for n in rng.integers(1, 12, size=60):
        one = units(rng, n, by_name=by_name)
        other = under_other_names(rng, one, keep=keep)
        order = matched("one", one, "other", other)
        assert sorted(order) == list(range(n))
        assert (other.contents[order] == one.contents).all()
        pairs = {*zip(one.groups["ranker"], other.groups["ranker"][order], strict=True)}
        assert len(pairs) == len(set(one.groups["ranker"])) == len(set(other.groups["ranker"]))
        assert not (keep and by_name) or all(a == b for a, b in pairs)


def test_units_that_cannot_be_matched_are_refused(rng):
    outcomes = set()
    for n in rng.integers(1, 7, size=80):
        one, other = units(rng, n, by_name=True), units(rng, n, by_name=False)
        same_data = bags(one) == bags(other)
        outcomes.add(same_data)
        assert are_matched(one, other) == same_data
    assert outcomes == {True, False}


# Matches and rankings of two


def two_tables():
    """The same matches, as pairs and as rankings in another order."""
    return pairs(), br.Rankings.from_orderings([list("ca"), list("ab"), list("ab"), list("bc")])


def test_bradley_terry_is_plackett_luce_of_two_items():
    _, orders = two_tables()
    by_pair = of_pairs()
    by_order = results(model_of(orders))
    found = [x["log_likelihood"]["y"].to_numpy() for x in (by_pair, by_order)]
    np.testing.assert_allclose(found[0], found[1][..., [1, 3, 2, 0]], rtol=1e-12)
    same(by_pair, by_order)
    table = compare({"pairs": by_pair, "orders": by_order})
    assert table.loc["random ranking", "elpd"] == pytest.approx(-4 * np.log(2))


def test_davidson_is_the_geometric_pmop_of_two_items():
    frame = pd.DataFrame({"one": list("abc"), "two": list("bca"), "who": ["first", "tie", "tie"]})
    matches = br.Pairs.from_frame(frame, first="one", second="two", outcome="who")
    with pytest.warns(br.data.UninformativeRankingWarning):  # among two, a block is all there is
        orders = br.Rankings.from_orderings([[{"b", "c"}], ["a", "b"], [{"a", "c"}]])
    options = {"aggregate": "geometric", "tie_prevalence": 0.7}
    one = results(model_of(matches, br.Davidson, nu=0.7))
    other = results(model_of(orders, br.PMOP, **options))
    same(one, other)
    table = compare({"one": one, "other": other})
    assert table.loc["random ranking", "elpd"] == pytest.approx(-3 * np.log(3))
    with pytest.raises(ValueError, match=r"^'one' \(pair outcomes with ties given the pairs\) and"):
        compare({"one": one, "two": results(model_of(orders))})


def test_matches_that_are_counted_are_not_rankings_of_two():
    _, orders = two_tables()
    counted = results(model_of(pairs(collapse=True), br.BradleyTerry))
    with pytest.raises(ValueError, match=r"^'orders' and 'counted' describe different rankings"):
        compare({"orders": results(model_of(orders)), "counted": counted})
    rows = [("a", "b"), ("b", "c"), ("b", "c"), ("a", "b")]
    twice = results(
        model_of(pairs([*rows, ("c", "a"), ("c", "a")], collapse=True), br.BradleyTerry)
    )
    three = rankings(orders=[list("ab"), list("bc"), list("ca")])
    with pytest.raises(ValueError, match=r"'twice' lacks 'a' > 'b', ranking 0 of 'three'\."):
        compare({"three": results(model_of(three)), "twice": twice})


def test_the_order_of_the_sides_is_data_of_pairs():
    frame = pd.DataFrame({"one": list("bbac"), "two": list("acba")})
    frame["who"] = ["second", "first", "first", "first"]
    away = br.Pairs.from_frame(frame, first="one", second="two", outcome="who", collapse=False)
    with pytest.raises(ValueError, match=r"the pairs are the same, but .*first or judge differ"):
        compare({"home": of_pairs(), "away": results(model_of(away, br.BradleyTerry))})


# Arrays and mixtures


def array_model(values, distribution=br.PlackettLuce, *, utility=None, **options):
    coords = dict(zip(options.get("dims", ()), map(range, np.shape(values)), strict=False))
    with pm.Model(coords=coords | {"item": list("abc")}) as model:
        x = pm.Normal("utility", dims="item")
        distribution("y", x if utility is None else utility(x), observed=values, **options)
    return model


FULL = [list("abc"), list("bca"), ["c", {"a", "b"}]]
BY_ITEM = np.array([[1, 2, 3], [3, 1, 2], [2, 2, 1]])


def test_arrays_are_matched_row_by_row_with_rankings_by_item_and_by_slot():
    full, whole = rankings(orders=FULL), of_all()
    by_item = results(array_model(BY_ITEM))
    by_slot = results(
        array_model(full.ranks, utility=lambda x: x[full.item], dims=("ranking", "slot"))
    )
    same(whole, by_item)
    same(whole, by_slot)
    table = compare({"whole": whole, "by item": by_item, "by slot": by_slot})
    assert table.loc["random ranking", "elpd"] == pytest.approx(-2 * np.log(6) - np.log(3))
    assert compare({"by item": by_item}).loc["random ranking", "elpd"] == pytest.approx(
        table.loc["random ranking", "elpd"]
    )
    moved = results(array_model(BY_ITEM[[1, 0, 2]]))
    for other in (whole, by_item, by_slot):
        with pytest.raises(ValueError, match=r"^'moved' and 'other' were fitted to different"):
            compare({"moved": moved, "other": other})


def test_arrays_whose_dims_have_labels_are_matched_by_content():
    moved = array_model(BY_ITEM[[2, 0, 1]], dims=("race", "item"))
    same(of_all(), results(moved))


def test_arrays_of_other_families_have_the_outcomes_of_their_data():
    orders = results(array_model(BY_ITEM, br.PMOP))
    with pytest.raises(ValueError, match=r"\(weak orders given their block sizes\) describe diff"):
        compare(
            {"orders": orders, "given": results(array_model(BY_ITEM, br.PMOP, given_sizes=True))}
        )
    matches = pairs()
    ends = np.stack([matches.first, matches.second], axis=1)
    by_array = array_model(matches.counts[:, :2], br.BradleyTerry, utility=lambda x: x[ends])
    same(results(by_array), of_pairs())

    counts = rankings(orders=FULL[:2]).counts()
    tables = np.zeros((2, 3, 3), int)
    tables[counts.ranker_idx, counts.first, counts.second] = counts.count
    kept, array = results(model_of(counts, br.MPM)), results(array_model(tables, br.MPM))
    np.testing.assert_allclose(baseline_elpd(array), baseline_elpd(kept), rtol=1e-12)
    same(kept, array)


def mixture(*components, weights=(0.4, 0.6), values=None):
    """A mixture of two components."""
    data = rankings(orders=FULL)
    with pm.Model(coords=data.coords | {"component": [0, 1]}) as model:
        utility = pm.Normal("utility", dims=("component", "item"))
        distributions = [
            make(utility[i][data.item], data.mask) for i, make in enumerate(components)
        ]
        values = data.ranks if values is None else values
        pm.Mixture("y", weights, distributions, observed=values, dims=("ranking", "slot"))
    return model


def plackett_luce(utility, where):
    return br.PlackettLuce.dist(utility, where=where)


def pmop(utility, where):
    return br.PMOP.dist(utility, where=where, given_sizes=True)


def test_a_mixture_of_our_distributions_is_a_model_of_their_outcomes():
    model, whole = mixture(plackett_luce, pmop), of_all()
    with pytest.raises(ValueError, match=r"^'mix' does not declare the outcomes of 'y'\. Observe"):
        compare({"one": whole, "mix": results(model)})
    assert br.declare_outcomes("y", model=model) == "weak orders given their block sizes"
    assert br.declare_outcomes("y", model=model) == "weak orders given their block sizes"
    table = compare({"one": whole, "mix": results(model)})
    assert set(table.index) == {"one", "mix", "random ranking"}


def test_components_with_different_outcomes_are_refused():
    free = mixture(plackett_luce, lambda utility, where: br.PMOP.dist(utility, where=where))
    with pytest.raises(ValueError, match=r"^The components of 'y' have different outcomes: weak"):
        br.declare_outcomes("y", model=free)
    with pm.Model() as model:
        distributions = [pm.Normal.dist(0, 1), pm.Normal.dist(1, 1)]
        pm.Mixture("y", [0.5, 0.5], distributions, observed=[0.1, 0.2])
    with pytest.raises(ValueError, match=r"^'y' has distributions from outside bayesrank, "):
        br.declare_outcomes("y", model=model)
    with pytest.raises(ValueError, match=r"no observed variable 'z'; it observes \['y'\]\.$"):
        br.declare_outcomes("z", model=model)


def test_outcomes_of_custom_and_conditioned_distributions_can_be_declared():
    with pm.Model() as model:
        utility = pm.Normal("utility", shape=3)
        pm.CustomDist(
            "y", utility, dist=lambda u, size: br.PlackettLuce.dist(u, size=size),
            observed=BY_ITEM, signature="(n)->(n)",
        )  # fmt: skip
        br.declare_outcomes("y")
    assert model["y_outcomes"].get_value().tolist() == [3]
    with pm.Model() as latent:
        br.Davidson("y", pm.Normal("utility", shape=2), nu=0.5, total=3)
    model = pm.observe(latent, {"y": [1, 1, 1]})
    assert br.declare_outcomes("y", model=model) == "pair outcomes with ties given the pairs"


# K folds


@pytest.fixture
def not_fitted(monkeypatch):
    """Fake posteriors for all folds."""

    class Compiled:
        def __init__(self, model):
            self.model = model

        def with_data(self, **_):
            return self

    def sample(compiled, **_):
        with compiled.model:
            return named(draws(draws=50), compiled.model)

    monkeypatch.setattr(nutpie, "compile_pymc_model", lambda model, **_: Compiled(model))
    monkeypatch.setattr(nutpie, "sample", sample)


def folds(model, **options):
    return br.kfold(**({"k": 3, "draws": 50, "chains": 1} | options), model=model)


@pytest.mark.filterwarnings("ignore::bayesrank.inference.FoldWarning")
def test_folds_are_assigned_by_content_and_not_by_position(not_fitted):
    one = folds(model_of(rankings(who=WHO)))
    other = folds(model_of(rankings(MOVED, who=WHO, items=list("cba"))))
    assert one.elpd_i.content.values[0] == "'a' > 'b' > 'c'"
    assert one.elpd_i.ranker.values.tolist() == WHO
    assert other.elpd_i.attrs["folds"] == [one.elpd_i.attrs["folds"][row] for row in MOVED]
    same(one, other)
    table = compare({"one": one, "other": other}, baseline=judged())
    assert table.loc["random ranking", "elpd"] == pytest.approx(-4 * np.log(6) - np.log(3 * 2))
    others = folds(model_of(rankings([0, 1, 2, 4, 4, 5], who=WHO)))
    with pytest.raises(ValueError, match=r"data: 'others' lacks 'a' > 'b' > 'c', ranking 3 of 'o"):
        compare({"one": one, "others": others}, baseline=False)


@pytest.mark.filterwarnings("ignore::bayesrank.inference.FoldWarning")
def test_folds_of_rankers_are_assigned_by_content(not_fitted):
    one = folds(model_of(rankings(who=WHO)), by="ranker")
    renamed = ["A" if x == "cy" else x for x in WHO]
    other = folds(model_of(rankings(MOVED, who=renamed)), by="ranker")
    assert one.elpd_i.content.values[0] == "'a' > 'b' > 'c'; 'c' > 'a' = 'b'"
    same(one, other)


@pytest.mark.filterwarnings("ignore::bayesrank.inference.FoldWarning")
def test_arrays_and_mixtures_have_folds(not_fitted):
    by_array = folds(array_model(BY_ITEM))
    assert by_array.elpd_i.dims == ("y_dim_0",)
    whole = folds(model_of(rankings(orders=FULL)), folds=by_array.elpd_i.attrs["folds"])
    same(by_array, whole)
    model = mixture(plackett_luce, pmop)
    with pytest.raises(ValueError, match=r"^'y' does not observe .*br\.declare_outcomes\('y'"):
        br.kfold(random_seed=1, model=model)
    br.declare_outcomes("y", model=model)
    mixed = folds(model)
    assert np.isfinite(mixed.elpd_i).all()
    table = compare({"mixed": mixed, "array": by_array}, baseline=results(model))
    assert set(table.index) == {"mixed", "array", "random ranking"}


@pytest.mark.parametrize("kind", ["rankings", "array"])
def test_log_likelihoods_multiplied_by_total_size_are_refused(kind):
    def scaled(total_size):
        if kind == "rankings":
            return results(model_of(rankings(orders=FULL), total_size=total_size))
        return results(array_model(BY_ITEM, total_size=total_size))

    assert compare({"x": scaled(3)}).loc["random ranking", "elpd"] < 0  # as many as they are
    with pytest.raises(ValueError, match=r"^'x' describes nothing: total_size multiplies every lo"):
        compare({"x": scaled(30)})


def test_a_single_value_cannot_be_left_out():
    model = array_model(BY_ITEM[0])
    with pytest.raises(ValueError, match=r"^'y' is observed as a single value without an axis of"):
        br.kfold(random_seed=1, model=model)
    with pytest.raises(ValueError, match=r"^The log-likelihood of 'y' has the dims \['chain',"):
        compare({"x": results(model)})
    with pytest.raises(ValueError, match=r"^'y' is observed as a single value without an axis of"):
        baseline_elpd(results(model))


@pytest.mark.filterwarnings("ignore::bayesrank.inference.FoldWarning")
def test_folds_of_matches_are_those_of_rankings_of_two(not_fitted):
    matches, orders = two_tables()
    one, other = folds(model_of(matches, br.BradleyTerry)), folds(model_of(orders))
    same(one, other)


def test_total_size_multiplies_new_data_too():
    model = model_of(pairs(), br.BradleyTerry, total_size=100)
    br.set_observed("y", pairs([("b", "a"), ("c", "b"), ("a", "c"), ("c", "a")]), model=model)
    assert (
        Kept(results(model), "y").outcome == "nothing: total_size multiplies every log-likelihood"
    )


def test_observed_data_are_described_in_words():
    kept = Kept(
        results(model_of(rankings(who=WHO, weight=[1, 1, 2, 1, 1, 1], count=[1, 1, 3, 1, 1, 1]))),
        "y",
    )
    assert kept.contents(kept.items)[:3].tolist() == [
        "'a' > 'b' > 'c'", "'b' > 'c' > 'a'", "'c' > 'a' = 'b' × 3, weight 2",
    ]  # fmt: skip
    assert kept.contents()[1] == "1 > 2 > 0"
    rows = [("a", "b"), ("a", "b"), ("b", "c")]
    kept = Kept(results(model_of(pairs(rows, collapse=True), br.BradleyTerry)), "y")
    assert kept.contents(kept.items).tolist() == ["'a' 2 : 0 'b'", "'b' > 'c'"]
    kept = Kept(results(model_of(rankings([0], orders=FULL).counts("binary"), br.MPM)), "y")
    assert kept.contents(kept.items).tolist() == ["'a' +2, 'c' -2"]
