r"""Compare metasearch by MPM, Bradley-Terry, Plackett-Luce, CPS, Borda and SVD.

The name of a method states how it treats a document that an engine does not list. It gives no
information ("missing"), is below all listed documents ("last"), or further below on a scale of
square roots of ranks ("below"). "Chosen" uses the treatment that the validation part of each fold
prefers. ``RESULTS.md`` reports the metrics of LETOR's evaluation script, which the paper uses, and
the metrics that the papers define.

Run ``python -m models.metasearch.study FOLDER`` with any folder of LETOR's aggregation collections
(A1.txt to A5.txt, or Fold1 to Fold5), by default ``MQ2008-agg`` in ``BAYESRANK_DATA``.

References
----------
Volkovs & Zemel, A flexible generative model for preference aggregation, WWW 2012, Table 1.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
from pymc.blocking import DictToArrayBijection

import bayesrank as br
from bayesrank.data import UninformativeRankingWarning
from bayesrank.inference import climb, objective
from bayesrank.results import borda
from models.metasearch import cps, early, supervised
from models.metasearch.data import read_aggregation_parts
from models.metasearch.label_agreement import AT_RANDOM, label_agreement, mean_agreement
from models.metasearch.metrics import LETOR, evaluate, percent
from models.metasearch.model import (
    Counting,
    Scores,
    build,
    engine_names,
    modes,
    posterior,
    ranked,
    to_counts,
)
from models.metasearch.svd import svd_scores
from models.shared.letor import N_PARTS, turns
from models.shared.modes import posterior_modes
from models.shared.results import Run, Table, run

Listing = Literal["missing", "last"]


Form = Literal["2a - 1", "(2a - 1)+", "a"]


def adherences(
    table: pd.DataFrame, counts: br.PairCounts, *, form: Form = "2a - 1"
) -> list[pd.Series]:
    """Compute the agreement of every engine with the training grades of each fold.

    An engine that agrees with a share a of the pairs has the adherence 2a - 1. It is 0 for a
    random ranking, and negative for a worse one, which is reversed. The form "(2a - 1)+" replaces
    negative values by 0, and "a" is the share itself, as in eq. 11 of the paper.
    """
    agreement = label_agreement(counts, table["label"].to_numpy())
    found = []
    for turn in turns(table["part"]):
        with warnings.catch_warnings():
            # an engine without training data gets the adherence of a random ranking
            warnings.simplefilter("ignore", UninformativeRankingWarning)
            mean = mean_agreement(agreement.loc[table["query"][turn.train].unique()])
        adherence = mean if form == "a" else 2 * mean - 1
        found.append(adherence.clip(lower=0) if form == "(2a - 1)+" else adherence)
    return found


def by_supervised_mpm(
    table: pd.DataFrame, *, unlisted: Counting = "below", form: Form = "2a - 1"
) -> list[Scores]:
    """Score by MPM with the adherences of each fold's training queries.

    MPM has no adherence below zero: a reversed engine has a second ranker with the opposite
    preferences.
    """
    given = adherences(table, to_counts(table, unlisted), form=form)
    turned = [name for name in engine_names(table) if any(theta[name] < 0 for theta in given)]
    counts = to_counts(table, unlisted, turned=turned)
    all_given = [
        pd.concat([theta.clip(lower=0), (-theta[turned].clip(upper=0)).add_suffix(" turned")])
        for theta in given
    ]
    ordered = [theta[counts.rankers] for theta in all_given]
    return modes(build(counts, ordered[0]), ordered)


def by_mpm(table: pd.DataFrame, *, unlisted: Counting = "below", **options: Any) -> list[Scores]:
    """Score by MPM without grades; the options go to `build`."""
    return modes(build(to_counts(table, unlisted), **options))


def by_plackett_luce(
    table: pd.DataFrame, *, unlisted: Listing, with_grades: bool = False
) -> list[Scores]:
    """Score by Plackett-Luce; with grades, adherences multiply the engines' utilities."""
    rankings = ranked(table, unlisted)
    given: list[pd.Series] = []
    with pm.Model(coords=rankings.coords) as model:
        score = utility = pm.Normal("score", 0, 1, dims="item")
        dims: tuple[str, ...] = ("item",)
        if with_grades:
            given = adherences(table, to_counts(table, unlisted))
            adherence = pm.Data("adherence", given[0], dims="ranker")
            utility, dims = adherence[:, None] * score, ("ranker", "item")
        br.PlackettLuce("y", utility, utility_dims=dims, observed=rankings)
    found = posterior_modes(model, [{"adherence": theta} for theta in given] or [{}], random_seed=1)
    return [mode["score"] for mode in found]


def by_borda(table: pd.DataFrame, *, unlisted: Listing) -> list[Scores]:
    """Score by the mean share of beaten documents; documents that no engine ranks are last."""
    return [borda(ranked(table, unlisted)).fillna(-1.0).to_numpy()]


def by_svd(table: pd.DataFrame, *, unlisted: Counting) -> list[Scores]:
    """Score by the mean preferences at rank two."""
    return [svd_scores(to_counts(table, unlisted)).to_numpy()]


# Each method has some meanings of unlisted documents; in each turn, the validation part chooses
# one.
Method = Callable[..., list[Scores]]
TWO, ALL = ("missing", "last"), ("missing", "last", "below")
FAMILIES: dict[str, tuple[Method, tuple[str, ...]]] = {
    "Borda": (by_borda, TWO),
    "CPS, Kendall": (partial(cps.score, distance="kendall"), TWO),
    "CPS, Spearman": (partial(cps.score, distance="spearman"), TWO),
    "CPS, footrule": (partial(cps.score, distance="footrule"), TWO),
    "SVD": (by_svd, ALL),
    "Bradley-Terry": (partial(by_mpm, given_pairs=True), ALL),
    "Plackett-Luce": (by_plackett_luce, TWO),
    "MPM": (by_mpm, ALL),
    "MPM, supervised": (by_supervised_mpm, ALL),
    "Plackett-Luce, supervised": (partial(by_plackett_luce, with_grades=True), TWO),
}
METHODS: Mapping[str, Callable[[pd.DataFrame], list[Scores]]] = {
    f"{family}, {unlisted}": partial(method, unlisted=unlisted)
    for family, (method, meanings) in FAMILIES.items()
    for unlisted in meanings
} | {
    "MPM, supervised by a, missing": partial(by_supervised_mpm, unlisted="missing", form="a"),
    "MPM, supervised by (2a - 1)+, missing": partial(
        by_supervised_mpm, unlisted="missing", form="(2a - 1)+"
    ),
    "MPM, supervised by a, below": partial(by_supervised_mpm, form="a"),
}
CHOICES = {
    family: [f"{family}, {m}" for m in meanings] for family, (_, meanings) in FAMILIES.items()
}
CHOICES |= {"CPS-best": [name for name in METHODS if name.startswith("CPS")]}
CHOICES = {
    f"{family}, chosen": names for family, names in CHOICES.items() if not family.startswith("CPS,")
}


# ---------------------------------------------------------------------------------------------
# Comparing
# ---------------------------------------------------------------------------------------------


class Tested(NamedTuple):
    """Scores of every document in the fold that tests it, and the choices of each fold."""

    scores: dict[str, Scores]
    chosen: dict[str, list[str]]  # one for each turn


def compare(
    table: pd.DataFrame,
    methods: Iterable[str] = METHODS,
    *,
    once: Callable[[str, Callable[[], list[Scores]]], list[Scores]] = lambda _, compute: compute(),
) -> Tested:
    """Score the test queries by every method, and by the choice of the validation part.

    `once` may keep the scores of a method, by its name. The choice in a fold has the highest
    mean NDCG (at 1 to 5) of its validation queries.
    """
    found = {name: once(name, partial(METHODS[name], table)) for name in methods}
    scores = {name: x * N_PARTS if len(x) == 1 else x for name, x in found.items()}
    parts = list(turns(table["part"]))
    tests = [turn.test for turn in parts]
    chosen: dict[str, list[str]] = {}
    for family, names in CHOICES.items():
        candidates = [name for name in names if name in scores]
        if len(candidates) < 2:
            continue
        best = []
        for number, turn in enumerate(parts):
            gains = {
                name: evaluate(table[turn.validation], scores[name][number][turn.validation])
                .filter(like="ndcg")
                .mean()
                .mean()
                for name in candidates
            }
            best.append(max(gains, key=gains.__getitem__))
        chosen[family] = best
        scores[family] = [scores[name][number] for number, name in enumerate(best)]
    tested = {name: np.select(tests, x) for name, x in scores.items()}
    return Tested(tested, chosen)


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

METRICS = [f"{m}@{k}" for m in ("ndcg", "p") for k in range(1, 6)] + ["ap"]
HEADS = [f"{m}@{k}" for m in "NP" for k in range(1, 6)] + ["MAP"]
# Volkovs & Zemel (WWW 2012), Table 1: MQ2008-agg and MQ2007-agg. BordaCount and CPS-best are taken
# from LETOR's site, which does not state how it treats unlisted documents.
TABLE_1 = {
    "MQ2008-agg": {
        "BordaCount": [23.68, 28.06, 30.80, 34.32, 37.13, 29.72, 30.42, 29.38, 29.75, 29.03, 39.45],
        "CPS-best": [26.52, 31.38, 34.59, 37.63, 40.04, 31.63, 32.27, 32.27, 31.66, 30.64, 41.02],
        "SVP": [32.49, 36.20, 38.62, 40.17, 41.85, 38.52, 36.42, 34.65, 32.01, 30.23, 43.61],
        "Bradley-Terry": [
            38.05, 39.24, 40.77, 41.79, 42.62, 44.77, 39.73, 36.26, 33.19, 30.28, 44.35
        ],
        "Plackett-Luce": [
            35.20, 38.49, 39.70, 40.49, 41.55, 41.32, 38.96, 35.33, 32.02, 29.62, 42.20
        ],
        "theta-MPM": [38.17, 40.57, 42.19, 43.07, 43.99, 44.89, 41.13, 37.67, 33.80, 31.17, 44.71],
    },
    "MQ2007-agg": {
        "BordaCount": [19.02, 20.14, 20.81, 21.28, 21.88, 24.88, 25.24, 25.69, 25.80, 25.97, 32.52],
        "CPS-best": [31.96, 33.18, 33.86, 34.09, 34.76, 38.65, 38.65, 38.14, 37.19, 37.02, 40.69],
        "SVP": [35.82, 35.91, 36.53, 37.16, 37.50, 41.61, 40.28, 39.50, 38.88, 38.10, 42.73],
        "Bradley-Terry": [
            39.88, 39.86, 40.40, 40.60, 40.91, 46.34, 44.65, 43.48, 41.98, 40.95, 43.98
        ],
        "Plackett-Luce": [
            40.63, 40.39, 40.26, 40.71, 40.96, 46.93, 45.10, 43.09, 42.32, 41.09, 43.64
        ],
        "theta-MPM": [41.77, 41.91, 41.92, 42.34, 42.79, 48.35, 46.64, 44.53, 43.52, 42.72, 45.71],
    },
}  # fmt: skip


def _published(collection: str, beside: Mapping[str, str]) -> pd.DataFrame:
    """Return the rows of Table 1, under the names of our rows."""
    rows = {ours: TABLE_1[collection][theirs] for ours, theirs in beside.items()}
    return pd.DataFrame(rows, index=HEADS).T


BESIDE = {  # rows of `by_the_paper`
    "SVP, means": "SVP",
    "SVP, sums": "SVP",
    "Bradley-Terry, 100 steps": "Bradley-Terry",
    "Plackett-Luce, 100 steps": "Plackett-Luce",
    "theta-MPM by a": "theta-MPM",
    "theta-MPM by (2a - 1)+": "theta-MPM",
    "BordaCount, LETOR": "BordaCount",
    "CPS-best, LETOR": "CPS-best",
}
PUBLISHED = {
    "table1": _published("MQ2008-agg", BESIDE),
    "table1_2007": _published("MQ2007-agg", BESIDE),
    "script": _published(
        "MQ2008-agg",
        {
            "SVD, missing": "SVP",
            "CPS-best, chosen": "CPS-best",
            "MPM, supervised by a, missing": "theta-MPM",
            "MPM, supervised by (2a - 1)+, missing": "theta-MPM",
        },
    ),
    "theta": _published("MQ2008-agg", {"theta-MPM": "theta-MPM"}),
    "steps": _published(
        "MQ2008-agg",
        {
            "Bradley-Terry, share, documents": "Bradley-Terry",
            "Plackett-Luce, documents": "Plackett-Luce",
        },
    ),
}
README_ROWS = [
    "SVD, missing", "CPS-best, chosen", "MPM, supervised by a, missing",
    "MPM, supervised by (2a - 1)+, missing", "MPM, supervised, missing",
    "Borda, chosen", "SVD, chosen", "Bradley-Terry, chosen", "Plackett-Luce, chosen",
    "MPM, chosen", "MPM, supervised, chosen",
    "Plackett-Luce, supervised, chosen",
]  # fmt: skip
STEP_RATE = 0.01
# methods of a run of reduced size
QUICK_METHODS = [
    "Borda, missing", "Borda, last", "SVD, missing", "SVD, last", "CPS, Kendall, last",
    "CPS, footrule, last", "MPM, supervised by a, missing", "MPM, supervised, missing",
    "MPM, supervised, last",
]  # fmt: skip


@lru_cache
def read(folder: Path, quick: bool) -> pd.DataFrame:
    """Read the documents of a collection; only a tenth of its queries for a quick run."""
    table = read_aggregation_parts(folder)
    if not quick:
        return table
    queries = table["query"].unique()
    return table[table["query"].isin(queries[::10])].reset_index(drop=True)


@lru_cache
def compared(how: Run) -> Tested:
    """Run all methods, once for all tables."""
    methods = how.chosen(QUICK_METHODS if how.quick else METHODS)
    return compare(read(how.folder, how.quick), methods, once=how.once)


def _metrics(how: Run, script: bool) -> pd.DataFrame:
    table = read(how.folder, how.quick)
    options: Any = LETOR if script else {}
    scores = compared(how).scores
    found = {name: evaluate(table, scores[name], **options) for name in sorted(scores, key=_place)}
    return percent(found)[METRICS].set_axis(HEADS, axis=1)


def _place(name: str) -> int:
    """Return the position of a row, next to its family."""
    families = [*FAMILIES]
    families.insert(families.index("SVD"), "CPS-best")
    return families.index(max((f for f in families if name.startswith(f)), key=len))


def by_the_script(how: Run) -> Table:
    """Compute the metrics of LETOR's evaluation script, next to the published values."""
    rows = _metrics(how, script=True)
    shown = [name for name in README_ROWS if name in rows.index]
    columns = [*HEADS[:5], "P@1", "MAP"]
    return Table(rows, shown=pd.DataFrame(index=shown, columns=columns))


def by_the_paper(how: Run, collection: str) -> Table:
    """Reproduce Table 1 of the paper, with unlisted documents missing and LETOR's script."""
    if how.folder.resolve().name != collection:
        raise ValueError(
            f"This table needs {collection}, but the folder is {how.folder}; name the folder of "
            f"{collection}, or choose other tables with --table."
        )
    table = read(how.folder, how.quick)
    counts, rate = to_counts(table, "missing"), early.per_query(table, STEP_RATE, "documents")
    found: dict[str, list[Scores]] = {
        "Borda, missing": by_borda(table, unlisted="missing"),
        "Borda, last": by_borda(table, unlisted="last"),
        "SVP, means": [svd_scores(counts).to_numpy()],
        "SVP, sums": [svd_scores(counts, mean=False).to_numpy()],
        "Bradley-Terry, 100 steps": early.bradley_terry(table, [rate], unit="share"),
        "Plackett-Luce, 100 steps": early.plackett_luce(table, [rate]),
        "theta-MPM by a": by_supervised_mpm(table, unlisted="missing", form="a"),
        "theta-MPM by (2a - 1)+": by_supervised_mpm(table, unlisted="missing", form="(2a - 1)+"),
    }
    tests = [turn.test for turn in turns(table["part"])]
    scores = {name: x[0] if len(x) == 1 else np.select(tests, x) for name, x in found.items()}
    tested = {name: evaluate(table, score, **LETOR) for name, score in scores.items()}
    rows = percent(tested)[METRICS].set_axis(HEADS, axis=1)
    return Table(rows, shown=rows)


def by_the_text(how: Run) -> Table:
    """Compute the metrics as papers define them."""
    return Table(_metrics(how, script=False))


def choices(how: Run) -> Table:
    """List the choices of the validation part in each fold."""
    rows = {
        family: [name.removeprefix(family.removesuffix(", chosen")).strip(", ") for name in names]
        for family, names in compared(how).chosen.items()
    }
    return Table(pd.DataFrame(rows, index=[f"fold {n + 1}" for n in range(N_PARTS)]).T)


RATES = (1e-4, 3e-4, 1e-3, 3e-3)


def theta_mpm(how: Run) -> Table:
    """Supervised MPM with early stopping: units, variances and rates, by LETOR's script."""
    table = read(how.folder, how.quick)
    given = adherences(table, to_counts(table, "missing"), form="(2a - 1)+")
    parts = list(turns(table["part"]))
    settings: list[tuple[early.Unit, bool]] = [
        ("share", True), ("log", False), ("binary", False), ("place", False)
    ]  # fmt: skip
    rows: dict[str, Scores] = {}
    for unit, variances in settings[:1] if how.quick else settings:
        rates = [rate / 100 if unit == "place" else rate for rate in RATES]
        scores = [np.zeros(len(table)) for _ in rates]
        gains = np.zeros((len(parts), len(rates)))
        for number, (turn, theta) in enumerate(zip(parts, given, strict=True)):
            both = turn.test | turn.validation  # other scores are not needed
            some = table[both].reset_index(drop=True)
            for r, found in enumerate(
                early.mpm(some, theta, rates, unit=unit, variances=variances)
            ):
                whole = np.zeros(len(table))
                whole[both] = found
                scores[r][turn.test] = whole[turn.test]
                known = table[turn.validation]
                metrics = evaluate(known, whole[turn.validation], **LETOR).filter(like="ndcg")
                gains[number, r] = metrics.mean().mean()
        chosen = np.zeros(len(table))
        for number, turn in enumerate(parts):
            chosen[turn.test] = scores[int(gains[number].argmax())][turn.test]
        name = f"{unit}{', variances' if variances else ''}"
        values = dict(zip((f"{name}, rate {rate:g}" for rate in rates), scores, strict=True))
        rows |= values | {f"{name}, rate by validation": chosen}
    tested = {name: evaluate(table, score, **LETOR) for name, score in rows.items()}
    frame = percent(tested)[METRICS].set_axis(HEADS, axis=1)
    return Table(frame, corner="unit of rank differences")


def steps_table(how: Run) -> Table:
    """Bradley-Terry and Plackett-Luce stopped early, at one rate, by LETOR's script.

    The gradient of a query is a sum, or is divided by the number of its documents or of their
    pairs.
    """
    table = read(how.folder, how.quick)
    rates = [early.per_query(table, STEP_RATE, mean) for mean in early.MEANS]
    units: tuple[early.Unit, ...] = early.UNITS[:1] if how.quick else early.UNITS
    found: dict[str, list[Scores]] = {
        f"Bradley-Terry, {unit}": early.bradley_terry(table, rates, unit=unit) for unit in units
    }
    found["Plackett-Luce"] = early.plackett_luce(table, rates)
    tested = {
        f"{name}, {mean}": evaluate(table, score, **LETOR)
        for name, scores in found.items()
        for mean, score in zip(early.MEANS, scores, strict=True)
    }
    rows = percent(tested)[METRICS].set_axis(HEADS, axis=1)
    return Table(rows, corner="likelihood and unit, gradient divided by")


def with_grades(how: Run) -> Table:
    """Grades as ordered partitions, engines as features, by both metrics at 1 to 5."""
    table = read(how.folder, how.quick)
    forms: dict[str, Any] = {"": {}} if how.quick else {"": {}, ", shares": {"ranks": "share"}}
    scales = supervised.SCALES[2:5] if how.quick else supervised.SCALES
    scores: dict[str, Scores] = {}
    for suffix, options in forms.items():
        found, _ = supervised.compare(table, scales=scales, **options)
        scores |= {f"{method}{suffix}": score for method, score in found.items()}
    script = percent({name: evaluate(table, s, **LETOR) for name, s in scores.items()})
    text = percent({name: evaluate(table, s) for name, s in scores.items()})
    rows = script[METRICS].set_axis(HEADS, axis=1)[[*HEADS[:5], "P@1", "MAP"]]
    for k in (1, 5):
        rows[f"N@{k} by the text"] = text[f"ndcg@{k}"]
    rows["MAP by the text"] = text["ap"]
    return Table(rows, corner="likelihood")


def _learned_adherences(model: pm.Model) -> Scores:
    """Compute adherences at the mode, with a Normal(0, 1) prior on their logarithms."""
    logp, start = objective(model)
    sizes = [np.full(size, name in ("log_typical", "spread_log__"))
             for name, _, size, _ in start.point_map_info]  # fmt: skip
    fixed = np.concatenate(sizes)  # the density has no mode in the spread of the adherences

    def given(x: Scores) -> tuple[float, Scores]:
        value, slope = logp(x)
        return value, np.where(fixed, 0.0, slope)

    found = climb(given, np.where(fixed, 0.0, start.data), tolerance=np.inf)
    mode = DictToArrayBijection.rmap(start._replace(data=found))
    (theta,) = model.replace_rvs_by_values([model["adherence"]])
    return np.asarray(theta.eval({model.rvs_to_values[model["x"]]: mode["x"]}))


def squares(how: Run) -> Table:
    """Reproduce Figure 3: adherences of the first fold, from training labels and learned."""
    table = read(how.folder, how.quick)
    by_labels = adherences(table, to_counts(table, "missing"), form="a")[0]
    train = next(iter(turns(table["part"]))).train
    counts = to_counts(table[train].reset_index(drop=True), "missing")
    learned = pd.Series(_learned_adherences(build(counts, "learned")), counts.rankers)
    rows = pd.DataFrame({"by labels": by_labels, "learned": learned}, index=engine_names(table))
    rows = rows.fillna({"by labels": AT_RANDOM, "learned": 0.0})
    scaled = (rows - rows.min()) / (rows.max() - rows.min())
    figure, ax = plt.subplots(figsize=(10, 1.5), layout="constrained")
    ax.imshow(scaled.T, cmap="gray", vmin=0, vmax=1)
    ax.set(yticks=[0, 1], yticklabels=[*rows], xticks=range(len(rows)), xlabel="engine")
    ax.set_xticklabels([name.removeprefix("engine") for name in rows.index])
    ax.set_xticks(np.arange(0.5, len(rows) - 1), minor=True)
    ax.set_yticks([0.5], minor=True)
    ax.grid(which="minor", color="0.5", linewidth=1)
    ax.tick_params(which="both", length=0)
    rows["by labels, 0 to 1"], rows["learned, 0 to 1"] = scaled["by labels"], scaled["learned"]
    return Table(rows, corner="engine", figures={"metasearch_adherences.png": figure})


def engines(how: Run) -> Table:
    """Sample the learned adherences by NUTS, without grades."""
    options: dict[str, Any] = {"draws": 50, "tune": 100, "chains": 1} if how.quick else {}
    draws = posterior(to_counts(read(how.folder, how.quick), "below"), **options)
    theta = draws["posterior"]["adherence"]
    return Table(br.adherence_summary(theta / theta.max("ranker")), corner="engine")


def weights(how: Run) -> Table:
    """Sample the weights of the engines under PMOP mean, from the training parts of one fold."""
    options: dict[str, Any] = {"draws": 50, "tune": 100, "chains": 1} if how.quick else {}
    found = supervised.summarise(
        supervised.posterior(read(how.folder, how.quick), 0.06, **options)
    ).sort_values(("listed", "mean"), ascending=False)
    heads = ["listed", "low", "high", "halved", "low ", "high "]
    return Table(found.set_axis(heads, axis=1), corner="engine")


TABLES: dict[str, Callable[[Run], Table]] = {
    "table1": partial(by_the_paper, collection="MQ2008-agg"),
    "script": by_the_script,
    "text": by_the_text,
    "choices": choices,
    "theta": theta_mpm,
    "steps": steps_table,
    "grades": with_grades,
    "squares": squares,
    "engines": engines,
    "weights": weights,
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run(
        "metasearch", TABLES, published=PUBLISHED,
        on_demand={"table1_2007": partial(by_the_paper, collection="MQ2007-agg")},
        data="MQ2008-agg", files="**/[At]*[1-5t].txt", arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
