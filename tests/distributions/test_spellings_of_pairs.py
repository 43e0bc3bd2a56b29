"""Every spelling of every parameter has the likelihood of a loop over labels, or is refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesrank as br
from tests.distributions.spellings import Row, cells, check
from tests.distributions.test_random_models import outcome_logs, tables_by_loop
from tests.oracles import partition_logp

# ---------------------------------------------------------------------------------------------
# Matches: three items, judges, kinds and courts
# ---------------------------------------------------------------------------------------------

ITEMS, UTILITY = ["c", "a", "b"], np.array([0.4, -0.3, 1.1])
MATCHES = [
    ("a", "b", "u", "x", "n", "first"), ("b", "c", "w", "y", "s", "tie"),
    ("c", "a", "v", "z", "n", "second"), ("c", "b", "w", "x", "e", "first"),
    ("b", "a", "u", "z", "e", "tie"),
]  # fmt: skip
COLUMNS = ["one", "other", "judge", "kind", "court", "won"]
WON = {"first": 0, "second": 1, "tie": 2}


PAIRS = br.Pairs.from_frame(
    pd.DataFrame(MATCHES, columns=COLUMNS), first="one", second="other", outcome="won",
    judge="judge", by=["kind", "court"], items=ITEMS,
)  # fmt: skip
GROUPS = [("judge",), ("kind", "judge"), ("court", "judge", "kind")]
OF_ITEMS = [("item",), ("judge", "item"), ("item", "court", "judge")]
FAMILIES = {"Davidson": br.Davidson, "RaoKupper": br.RaoKupper}
TIE = {"Davidson": "nu", "RaoKupper": "theta"}


def of_match(x, match):
    """Value of a parameter at a match, and those at its items."""
    own = x.sel({by: match[by] for by in ("judge", "kind", "court") if by in x.dims})
    if "item" in x.dims:
        return own.sel(item=[match["one"], match["other"]]).to_numpy()
    return own.item()


def exact_matches(family, what):
    """Log-likelihood of all matches, one after the other."""
    utility = xr.DataArray(UTILITY, {"item": ITEMS})

    def total(x):
        out = 0.0
        for row in MATCHES:
            match = dict(zip(COLUMNS, row, strict=True))
            given = {"utility": utility, "adherence": 1.0, "order_effect": 0.0, "tie": 1.3, what: x}
            at = {k: of_match(v, match) if hasattr(v, "dims") else v for k, v in given.items()}
            lead = at["adherence"] * (at["utility"][0] - at["utility"][1]) + at["order_effect"]
            out += outcome_logs(FAMILIES[family], lead, at["tie"])[WON[match["won"]]]
        return out

    return total


def row_of_matches(family, what):
    name = TIE[family] if what == "tie" else what

    def build(x):
        given = {"utility": UTILITY, TIE[family]: 1.3} | {name: x}
        return FAMILIES[family]("y", given.pop("utility"), **given, observed=PAIRS)

    of_items = what == "utility"
    return Row(
        name, family, PAIRS.coords, OF_ITEMS if of_items else [(), *GROUPS], build,
        exact_matches(family, what), foreign="kind" if of_items else "item",
        values=(lambda z: 1.0 + np.exp(z)) if what == "tie" else np.exp,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Counts: three items by three rankers of three regions
# ---------------------------------------------------------------------------------------------

COUNTS = br.PairCounts.from_frame(
    pd.DataFrame(
        [("x", "a", "b", 2), ("x", "c", "b", 1), ("y", "b", "a", 3), ("z", "c", "a", 1),
         ("z", "a", "c", 2), ("y", "c", "a", 1)],
        columns=["who", "one", "other", "n"],
    ), first="one", second="other", count="n", ranker="who",
).grouped({"region": {"x": "s", "y": "n", "z": "e"}})  # fmt: skip
BY_RANKER = [("ranker",), ("region",), ("region", "ranker")]


def row_of_counts(what):
    score = np.array([0.4, -0.3, 1.1])

    def exact(x):
        values = {"score": score, "adherence": np.array(1.0)} | {what: x.to_numpy()}
        dims = {"score": ("item",), "adherence": ()} | {what: x.dims}
        return tables_by_loop(COUNTS, values, dims, given_pairs=True).sum()

    def build(x):
        given = {"score": score} | {what: x}
        return br.MPM("y", given.pop("score"), **given, given_pairs=True, observed=COUNTS)

    axes = {
        "score": [("item",), ("ranker", "item"), ("item", "region", "ranker")],
        "variance": [(), ("item",), *BY_RANKER, ("region", "item")],
        "adherence": [(), *BY_RANKER],
    }
    foreign = {"adherence": "item"}.get(what, "")
    return Row(what, "MPM", COUNTS.coords, axes[what], build, exact, foreign=foreign)


# ---------------------------------------------------------------------------------------------
# Rankings with ties: four items by three rankers in three seasons; blocks of up to four
# ---------------------------------------------------------------------------------------------

RANKINGS = br.Rankings.from_orderings(
    [[{"a", "b"}, "c", "d"], ["d", {"a", "b", "c"}], ["b", "a", {"c", "d"}],
     [{"d", "c"}, {"a", "b"}]],
    items=list("bdac"), rankers=["v", "u", "w", "u"],
).grouped({"season": [2025, 2024, 2026, 2026]})  # fmt: skip
WORTH = np.array([0.4, -0.3, 1.1, 0.2])


def row_of_rankings(what, axis, labels):
    def exact(x):
        out = 0.0
        for row in range(RANKINGS.n_rankings):
            codes = {"ranker": RANKINGS.ranker_idx, "season": RANKINGS.groups["season"].idx}
            at = {by: RANKINGS.coords[by][idx[row]] for by, idx in codes.items()}
            own = x.sel({by: label for by, label in at.items() if by in x.dims}).to_numpy()
            given = {"stage_weight": own}
            if what == "tie_prevalence":
                given = {"log_weight": np.append(0.0, np.log(own))}
            used = RANKINGS.mask[row]
            utility = WORTH[RANKINGS.item[row, used]]
            out += partition_logp(utility, RANKINGS.ranks[row, used], "geometric", **given)
        return out

    def build(x):
        return br.PMOP("y", WORTH, aggregate="geometric", observed=RANKINGS, **{what: x})

    def falling(z):
        return -np.sort(-np.exp(z), axis=-1)  # weights of stages do not increase

    axes = [(axis,), ("ranker", axis), ("season", axis), ("season", "ranker", axis)]
    return Row(
        what, "PMOP", RANKINGS.coords, axes, build, exact,
        values=falling if axis == "stage" else np.exp, more={axis: labels},
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Interactions: three users and three items
# ---------------------------------------------------------------------------------------------

HAD = br.Interactions.from_frame(
    pd.DataFrame({"u": list("yxyz"), "i": list("abcc")}), user="u", item="i", items=["c", "a", "b"]
)


def exact_interactions(x):
    has = {(user, item) for user, item in zip("yxyz", "abcc", strict=True)}
    out = 0.0
    for user in "xyz":
        own = x.sel(user=user) if "user" in x.dims else x
        for i in "abc":
            for j in "abc":
                if (user, i) in has and (user, j) not in has:
                    out -= np.log1p(np.exp(float(own.sel(item=j)) - float(own.sel(item=i))))
    return out


BPR = Row(
    "utility", "BPR", HAD.coords, [("item",), ("user", "item")],
    lambda x: br.BPR("y", x, observed=HAD), exact_interactions,
)  # fmt: skip

ROWS = [
    *(row_of_matches("Davidson", what) for what in ("utility", "adherence", "order_effect", "tie")),
    row_of_matches("RaoKupper", "tie"),
    *(row_of_counts(what) for what in ("score", "variance", "adherence")),
    row_of_rankings("tie_prevalence", "size", [2, 3, 4]),
    row_of_rankings("rank_weights", "stage", [1, 2, 3]),
    BPR,
]  # fmt: skip
NAMES = [f"{row.family}-{row.name}" for row in ROWS]


@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_wrong_spellings_are_refused_and_one_right_one_is_read_by_its_labels(row):
    for n, axes in enumerate(row.axes):
        every = [*cells(row, axes)]
        right = [cell for cell in every if not (cell.wrong or cell.unclear)]
        for cell in [x for x in every if x.wrong] + right[-1:] * (n == 1):
            check(row, axes, cell)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=NAMES)
def test_every_spelling_is_read_by_its_labels_or_refused(row):
    for axes in row.axes:
        for cell in cells(row, axes):
            check(row, axes, cell)
