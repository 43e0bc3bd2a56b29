"""Arrays as observed=: what is no ranks, and data of another kind, is refused with the way out."""

import numpy as np
import pandas as pd
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br

FAMILIES = [br.PlackettLuce, br.PMOP]
U = np.array([0.5, -0.2, 1.0, 0.0])
THREE = br.Rankings.from_orderings([["b", "a", "c"], ["c", "b", "a"]])


def logp_of(family, observed, **options):
    with pm.Model() as model:
        family("y", U, observed=observed, **options)
    return model.compile_logp(vars=model["y"], sum=False)({})[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_nan_and_zero_are_items_that_are_not_ranked(family):
    exact = logp_of(family, [[2, 0, 1, 1], [1, 2, 3, 4]])
    for missing in (np.nan, 0):
        ranks = np.array([[2, missing, 1, 1], [1, 2, 3, 4]])
        np.testing.assert_array_equal(logp_of(family, ranks), exact)
        np.testing.assert_array_equal(logp_of(family, ranks, where=ranks > 0), exact)
    masked = np.ma.masked_array([[2, 7, 1, 1], [1, 2, 3, 4]], [[0, 1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(logp_of(family, masked), exact)
    shared = pd.array([2, 0, 1, 1], dtype="Int64")
    np.testing.assert_array_equal(logp_of(family, [shared, [1, 2, 3, 4]]), exact)
    part = family.dist(U[[0, 2, 3]])
    assert exact[0] == pytest.approx(float(pm.logp(part, [2, 1, 1]).eval()))


@pytest.mark.parametrize("family", FAMILIES)
def test_invalid_ranks_are_refused(family):
    name = family.__name__
    cases = {
        "from zero": (
            [[0, 1, 2, 3], [1, 0, 3, 2]],
            r"^Each ranking in observed= of \w+ has a rank 0\. ",
        ),
        "average": (
            [1, 2.5, 2.5, 4],
            r"^The ranks \[1.0, 2.5, 2.5, 4.0\] in obs.* not whole: for",
        ),
        "gaps": (
            [1, 2, 2, 4],
            rf"in observed= of {name} have gaps: for ranks such as 1, 2, 2, 4,",
        ),
        "no best": ([2, 3, 4, 5], "have gaps"),
        "negative": ([-1, 1, 2, 3], r"are negative: 1 is the best"),
        "infinite": ([np.inf, 1, 2, 3], r"are not finite: use 0 or NaN for"),
        "length": ([1, 2, 3], r"got 3 ranks per ranking, but utilities of 4 slots. Give one"),
        "number": (3, r"got observed=3.0: give one rank per slot"),
        "nothing": ([], r"got observed= of shape \(0,\), which holds no ranks"),
    }
    for observed, message in cases.values():
        with pytest.raises(ValueError, match=message), pm.Model():
            family("y", U, observed=observed)
    for observed in (["a", "b", "c", "d"], [[1, 2], [1, 2, 3]]):
        with pytest.raises(TypeError, match=r"not an array of ranks .* Rankings.from_"), pm.Model():
            family("y", U, observed=observed)
    with pytest.raises(ValueError, match=r"^The slot \[1\] has a rank .* but is not in use acc"):
        logp_of(family, [1, 2, 3, 4], where=[True, False, True, True])


@pytest.mark.parametrize("family", FAMILIES)
def test_data_of_another_type_are_refused_with_advice(family):
    name = family.__name__
    message = rf"^{name} observes Rankings, but got Pairs, which BradleyTerry, .* observe\.$"
    with pytest.raises(TypeError, match=message), pm.Model():
        family("y", U, observed=THREE.pairs())
    with pytest.raises(TypeError, match=r"got PairCounts, which MPM observes\.$"), pm.Model():
        family("y", U, observed=THREE.counts())
    with pytest.raises(TypeError, match=r"Give it to the rankings: obs"), pm.Model():
        family("y", U, observed=[1, 2, 3, 4], weight=[2.0])


@pytest.mark.parametrize("family", [br.Mallows, br.GeneralizedMallows])
def test_arrays_of_no_full_rankings_are_refused_by_mallows_models(family):
    consensus = [1, 2, 3]
    cases = {
        "from zero": ([[0, 1, 2], [1, 0, 2]], r"^Each ranking in obs.* of \w*Mallows has a rank 0"),
        "ties": (
            [[1, 2, 2]],
            r"^The ranks \[1, 2, 2\] in observed= of \w+ have ties; an ",
        ),
    }
    if family is br.GeneralizedMallows:
        cases["left out"] = (
            [[1, np.nan, 2]],
            r"^The ranks \[1, 0, 2\] in .* leave items out; ",
        )
    for observed, message in cases.values():
        with pytest.raises(ValueError, match=message), pm.Model():
            family("y", consensus, [1.0, 1.0], observed=observed)
    with pytest.raises(TypeError, match="but got Pairs, which"), pm.Model():
        family("y", consensus, [1.0, 1.0], observed=THREE.pairs())


def test_items_that_an_array_leaves_out_are_summed_over_by_mallows():
    with pm.Model() as model:
        br.Mallows("y", [1, 2, 3], 1.0, distance="kendall", observed=[[1, np.nan, 2]])
    full = br.Mallows.dist([1, 2, 3], 1.0, distance="kendall")
    completions = [pm.logp(full, x).eval() for x in ([1, 2, 3], [1, 3, 2], [2, 1, 3])]
    assert float(model.compile_logp(mode="FAST_COMPILE")({})) == pytest.approx(
        np.logaddexp.reduce(completions)
    )


def test_rankings_where_counts_or_pairs_are_wanted():
    cases = {
        "MPM": (br.MPM, r"^MPM observes PairCounts, .* Give observed=rankings\.counts\(\)\.$"),
        "Thurstone": (br.Thurstone, r"^Thurstone observes Pairs, .* Give .*rankings\.pairs\(\)\.$"),
    }
    for family, message in cases.values():
        with pytest.raises(TypeError, match=message), pm.Model():
            family("y", U, observed=THREE)


def test_labels_where_counts_are_wanted():
    cases = {br.BradleyTerry: r"Pairs\.from_frame\.$", br.MPM: r"PairCounts\.from_frame\.$"}
    for family, message in cases.items():
        for observed in ([["a", "b"]], [[1, 2], [1, 2, 3]]):
            with (
                pytest.raises(TypeError, match=r"is not an array of numbers\. .*" + message),
                pm.Model(),
            ):
                family("y", U[:2], observed=observed)


def test_minibatches_of_ranks_have_the_scaled_log_probability():
    rng = np.random.default_rng(1)
    item = np.array([rng.permutation(4)[:3] for _ in range(50)])
    ranks = np.tile([1, 2, 3], (50, 1))
    with pm.Model() as model:
        u = pm.Flat("u", shape=4)
        some, its = pm.Minibatch(item, ranks, batch_size=10)
        with pytest.raises(TypeError, match=r"^PlackettLuce got a minibatch of int64, which PyMC"):
            br.PlackettLuce("y", u[some], observed=its, total_size=(50, 3))
        some, its = pm.Minibatch(item, ranks.astype("int32"), batch_size=10)
        br.PlackettLuce("y", u[some], observed=its, total_size=(50, 3))
    logp = model.compile_logp()
    batches = [float(logp({"u": U})) for _ in range(400)]
    whole = pm.logp(br.PlackettLuce.dist(U[item]), ranks).eval()
    error = 50 * whole.std() / np.sqrt(10 * 400)
    assert abs(np.mean(batches) - whole.sum()) < 5 * error


OBSERVING = {
    "PlackettLuce": lambda y: br.PlackettLuce("y", np.zeros(3), observed=y),
    "PMOP": lambda y: br.PMOP("y", np.zeros(3), observed=y),
    "Mallows": lambda y: br.Mallows("y", [1, 2, 3], alpha=1.0, observed=y),
    "GeneralizedMallows": lambda y: br.GeneralizedMallows("y", [1, 2, 3], [1.0, 1.0], observed=y),
    "Mixture": lambda y: br.Mixture(
        "y", [0.5, 0.5], [br.PlackettLuce.dist(np.zeros(3))] * 2, observed=y
    ),
    "BradleyTerry": lambda y: br.BradleyTerry("y", 0.0, observed=y),
    "Davidson": lambda y: br.Davidson("y", 0.0, nu=1.0, observed=y),
    "MPM": lambda y: br.MPM("y", np.zeros(3), observed=y),
    "BPR": lambda y: br.BPR("y", np.zeros(3), observed=y),
}
LABELLED = {
    "DataArray": xr.DataArray(np.eye(3, dtype=int), dims=("ranking", "item")),
    "Dataset": xr.Dataset({"y": ("item", [1, 2, 3])}),
    "DataFrame": pd.DataFrame(np.eye(3, dtype=int)),
    "Series": pd.Series([1, 2, 3]),
    "dict": {"a": 1, "b": 2},
}


@pytest.mark.parametrize("observed", LABELLED.values(), ids=LABELLED)
@pytest.mark.parametrize("family", OBSERVING.values(), ids=OBSERVING)
def test_observed_values_with_labels_are_refused(family, observed):
    with pm.Model(), pytest.raises(TypeError, match=r"labels would be lost\. Read it with \w+\.fr"):
        family(observed)


@pytest.mark.parametrize("family", FAMILIES)
def test_utilities_by_row_are_as_many_as_the_rankings_of_an_array(family):
    ranks = [[1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4]]
    message = (
        r"got rankings of shape \(3,\) in observed=, and `utility` of shape \(2, 4\). Give one"
    )
    with pytest.raises(ValueError, match=message), pm.Model():
        family("y", np.zeros((2, 4)), observed=ranks)
    for rows in (1, 3):
        with pm.Model():
            family("y", np.zeros((rows, 4)), observed=ranks)


def test_parameters_of_mpm_by_row_are_as_many_as_the_tables_of_an_array():
    tables = np.tile(np.array([[0, 2, 1], [1, 0, 3], [0, 0, 0]]), (4, 1, 1))
    wrong = {"score": np.zeros((2, 3)), "variance": np.ones((2, 3)), "adherence": np.ones(2)}
    for what, value in wrong.items():
        message = rf"got tables of shape \(4,\) in observed=, and `{what}` of shape \(2,"
        with pytest.raises(ValueError, match=message), pm.Model():
            br.MPM("y", **{"score": np.zeros(3), what: value}, observed=tables)
    with pytest.raises(
        ValueError, match=r"`variance` has 2 items, but `score` has 3\. Give one varia"
    ):
        br.MPM.dist(np.zeros(3), variance=np.ones(2))


@pytest.mark.parametrize(
    ("family", "what"),
    [
        (br.PMOP, "tie_prevalence"),
        (br.Mallows, "consensus"),
        (br.Mallows, "alpha"),
        (br.GeneralizedMallows, "consensus"),
        (br.GeneralizedMallows, "alpha"),
    ],
)
def test_other_parameters_by_row_are_as_many_as_the_rankings_of_an_array(family, what):
    given = {"utility": np.zeros(3)} if family is br.PMOP else {"consensus": [1, 2, 3]}
    given["alpha"] = [1.0, 1.0] if family is br.GeneralizedMallows else 1.0
    if family is br.PMOP:
        del given["alpha"]
    one = {"tie_prevalence": np.ones(2), "consensus": [1, 2, 3], "alpha": given.get("alpha")}[what]
    given[what] = np.stack([one, one])
    message = rf"of shape \(3,\) in observed=, and `{what}` of shape \(2,.*. Give one for all"
    with pytest.raises(ValueError, match=message), pm.Model():
        family("y", **given, observed=[[1, 2, 3], [3, 2, 1], [1, 3, 2]])
