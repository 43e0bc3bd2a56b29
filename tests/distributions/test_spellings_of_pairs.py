"""Spellings of parameters of matches, counts, PMOP and BPR: by label, or refused.

All axes of the data have three labels where they can, so that lengths tell nothing.
"""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bayesrank as br
from tests.distributions.mpm_examples import tables_by_loop
from tests.distributions.pair_examples import outcome_logs
from tests.distributions.spellings import Parameter, check_all, check_some
from tests.oracles import partition_logp

# Matches: three items, judges, kinds and courts

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


def for_match(x, match):
    """Value of a parameter at a match, and those at its items."""
    selected = x.sel({by: match[by] for by in ("judge", "kind", "court") if by in x.dims})
    if "item" in x.dims:
        return selected.sel(item=[match["one"], match["other"]]).to_numpy()
    return selected.item()


def exact_matches(family, what):
    """Log-likelihood of all matches, one after the other."""
    utility = xr.DataArray(UTILITY, {"item": ITEMS})

    def total(x):
        out = 0.0
        for row in MATCHES:
            match = dict(zip(COLUMNS, row, strict=True))
            given = {"utility": utility, "adherence": 1.0, "order_effect": 0.0, "tie": 1.3, what: x}
            at = {k: for_match(v, match) if hasattr(v, "dims") else v for k, v in given.items()}
            lead = at["adherence"] * (at["utility"][0] - at["utility"][1]) + at["order_effect"]
            out += outcome_logs(FAMILIES[family], lead, at["tie"])[WON[match["won"]]]
        return out

    return total


def row_of_matches(family, what):
    name = TIE[family] if what == "tie" else what

    def build(x):
        given = {"utility": UTILITY, TIE[family]: 1.3} | {name: x}
        return FAMILIES[family]("y", given.pop("utility"), **given, observed=PAIRS)

    is_utility = what == "utility"
    return Parameter(
        family, name, OF_ITEMS if is_utility else GROUPS,
        [("judge",), ("kind", "court")] if is_utility else [("item",), ("item", "judge")],
        build, exact_matches(family, what), PAIRS.coords,
        kind="above one" if what == "tie" else "real",
    )  # fmt: skip


# Counts: three items by three rankers of three regions

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
        return tables_by_loop(COUNTS, values, dims).sum()

    def build(x):
        given = {"score": score} | {what: x}
        if what != "score":  # by its labels, which models may have in another order
            given["score"] = pd.Series(score, COUNTS.items)
        return br.MPM("y", given.pop("score"), **given, observed=COUNTS)

    axes = {
        "score": [("item",), ("ranker", "item"), ("item", "region", "ranker")],
        "variance": [("item",), *BY_RANKER, ("region", "item")],
        "adherence": BY_RANKER,
    }
    impossible = {"score": [("ranker",), ("region", "ranker")], "adherence": [("item",)]}
    return Parameter(
        "MPM", what, axes[what], impossible.get(what, []), build, exact, COUNTS.coords,
    )  # fmt: skip


# Rankings with ties: four items by three rankers in three seasons; blocks of up to four

RANKINGS = br.Rankings.from_orderings(
    [[{"a", "b"}, "c", "d"], ["d", {"a", "b", "c"}], ["b", "a", {"c", "d"}],
     [{"d", "c"}, {"a", "b"}]],
    items=list("bdac"), rankers=["v", "u", "w", "u"],
).grouped({"season": [2025, 2024, 2026, 2026]})  # fmt: skip
WORTH = np.array([0.4, -0.3, 1.1, 0.2])


def row_of_rankings():
    def exact(x):
        out = 0.0
        for row in range(RANKINGS.n_rankings):
            codes = {"ranker": RANKINGS.ranker_idx, "season": RANKINGS.groups["season"].idx}
            at = {by: RANKINGS.coords[by][idx[row]] for by, idx in codes.items()}
            selected = x.sel({by: label for by, label in at.items() if by in x.dims}).to_numpy()
            log_weight = np.append(0.0, np.log(selected))
            used = RANKINGS.mask[row]
            utility = WORTH[RANKINGS.item[row, used]]
            ranks = RANKINGS.ranks[row, used]
            out += partition_logp(utility, ranks, "geometric", log_weight=log_weight)
        return out

    def build(x):
        return br.PMOP("y", WORTH, aggregate="geometric", observed=RANKINGS, tie_prevalence=x)

    axes = [("size",), ("ranker", "size"), ("season", "size"), ("season", "ranker", "size")]
    return Parameter(
        "PMOP", "tie_prevalence", axes, [("item",), ("stage",), ("ranker", "item")],
        build, exact, {**RANKINGS.coords, "size": [2, 3, 4], "stage": [1, 2, 3]},
    )  # fmt: skip


# Interactions: three users and three items

HAD = br.Interactions.from_frame(
    pd.DataFrame({"u": list("yxyz"), "i": list("abcc")}), user="u", item="i", items=["c", "a", "b"]
)


def exact_interactions(x):
    has = {(user, item) for user, item in zip("yxyz", "abcc", strict=True)}
    out = 0.0
    for user in "xyz":
        selected = x.sel(user=user) if "user" in x.dims else x
        for i in "abc":
            for j in "abc":
                if (user, i) in has and (user, j) not in has:
                    out -= np.log1p(
                        np.exp(float(selected.sel(item=j)) - float(selected.sel(item=i)))
                    )
    return out


PARAMETERS = [
    *(row_of_matches("Davidson", what) for what in ("utility", "adherence", "order_effect", "tie")),
    row_of_matches("RaoKupper", "tie"),
    *(row_of_counts(what) for what in ("score", "variance", "adherence")),
    row_of_rankings(),
    Parameter(
        "BPR", "utility", [("item",), ("user", "item")], [("user",)],
        lambda x, **dims: br.BPR("y", x, observed=HAD, **dims), exact_interactions, HAD.coords,
        dims_option="utility_dims",
    ),
]  # fmt: skip
NAMES = [f"{p.family} {p.what}" for p in PARAMETERS]


@pytest.mark.parametrize("parameter", PARAMETERS, ids=NAMES)
def test_wrong_spellings_are_refused_and_right_ones_are_read_by_label(parameter):
    check_some(parameter)


@pytest.mark.slow
@pytest.mark.parametrize("parameter", PARAMETERS, ids=NAMES)
def test_every_spelling_is_read_by_label_or_refused(parameter):
    check_all(parameter)
