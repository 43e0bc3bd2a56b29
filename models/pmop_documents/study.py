"""Compare likelihoods for document ranking on MQ2008 by cross-validation.

The validation part of every fold determines the features and the prior scale, for each method
separately. ``RESULTS.md`` contains the results. The paper's Table 2 uses the Yahoo! Learning to
Rank Challenge, whose data are not available, so only the order of rows is comparable.

Run ``python -m models.pmop_documents.study [FOLDER]`` with the folder of MQ2008 (S1.txt to S5.txt),
by default ``MQ2008`` in ``BAYESRANK_DATA``.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesrank.results import query_metrics
from models.pmop_documents.model import CONTRASTIVE, build, path_of, posterior_mean
from models.pmop_documents.second_order import SecondOrderFeatures
from models.shared.letor import Part, folds, read_parts
from models.shared.results import Run, Table, run

# Candidate scales of the coefficients of standardised features, for the validation part
SCALES = (0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6)
FEW_SCALES = (0.03, 0.1, 0.3)  # of contrastive divergence: its noise hides finer differences
THRESHOLDS = (0.25, 0.2, 0.15)  # of the correlation of a product of features with the grade
MAX_GRADE = 2  # of MQ2008
DEPTHS = (1, 5)  # of NDCG
REFERENCE = "PMOP mean"


def evaluate(part: Part, coefficient: NDArray[np.float64]) -> pd.DataFrame:
    """Compute ERR and NDCG of each query under linear utilities."""
    score = np.zeros(part.grades.shape)
    score[part.rankings.mask] = part.features @ coefficient
    return query_metrics(
        part.grades,
        score,
        where=part.rankings.mask,
        labels=part.rankings.labels,
        k=DEPTHS,
        max_grade=MAX_GRADE,
    ).queries


def compare(
    documents: pd.DataFrame,
    method: str,
    *,
    prepare: Sequence[BaseEstimator] = (StandardScaler(),),
    scales: Sequence[float] = SCALES,
    sampled: bool = False,
) -> pd.DataFrame:
    """Compute the metrics of every test query under a method.

    The validation part determines the features (one of `prepare`) and the prior scale. With
    `sampled`, the coefficients are the posterior mean instead of the mode.
    """
    tested: list[pd.DataFrame] = []
    turns = zip(*(folds(documents, transformer) for transformer in prepare), strict=True)
    for number, prepared in enumerate(turns, start=1):
        fits = []
        for fold in prepared:
            path = path_of(method, fold.train, scales)
            for scale, beta in zip(scales, path, strict=True):
                fits.append((evaluate(fold.validation, beta).mean().sum(), scale, fold, beta))
        _, scale, fold, beta = max(fits, key=lambda fit: fit[0])
        if sampled:
            beta = posterior_mean(build(fold.train, method), scale)
        tested.append(pd.concat({number: evaluate(fold.test, beta)}, names=["fold"]))
    return pd.concat(tested)


def differences(tested: Mapping[str, pd.DataFrame], reference: str) -> pd.DataFrame:
    """Compute means over queries, their differences from `reference`, and standard errors.

    The differences are paired: query by query.
    """
    rows = {}
    for method, queries in tested.items():
        lead = queries - tested[reference]
        paired = lead.mean().add_suffix(" difference"), lead.sem().add_suffix(" se")
        rows[method] = pd.concat([queries.mean(), *paired])
    return pd.DataFrame(rows).T


# ---------------------------------------------------------------------------------------------
# Tables
# ---------------------------------------------------------------------------------------------

LIKELIHOODS = (
    REFERENCE, "PMOP mean, weighted", "PMOP mean, backwards", "PMOP min", "PMOP max",
    "rank regression", "regression on grades", "RankNet", "Thurstone pairs", "ranking SVM",
    "RankBoost", "ListMLE, ties as in the file", "ListMLE, ties at random", "Plackett-Luce",
)  # fmt: skip
# The paper's estimators and the exact likelihood, all with the same few scales
ESTIMATORS = (
    "PMOP geometric", "PMOP geometric, CD-Gibbs", "PMOP geometric, CD-MH",
    "PMOP harmonic", "PMOP harmonic, CD-Gibbs",
)  # fmt: skip
TIES = (REFERENCE, "Davidson pairs", "Rao-Kupper pairs")
PRODUCTS = (
    REFERENCE, "PMOP mean, weighted", "PMOP max", "PMOP geometric, CD-Gibbs",
    "PMOP geometric, CD-MH", "PMOP harmonic, CD-Gibbs", "rank regression", "regression on grades",
    "RankNet", "ranking SVM", "ListMLE, ties at random", "Davidson pairs", "Rao-Kupper pairs",
    "Plackett-Luce",
)  # fmt: skip
QUICK = (REFERENCE, "rank regression", "regression on grades", "PMOP geometric, CD-MH")


@lru_cache
def _documents(folder: Path) -> pd.DataFrame:
    return read_parts(folder)


@lru_cache
def _tested(how: Run, method: str, form: str = "plain") -> pd.DataFrame:
    """Test a method once for all tables that show it."""
    return how.once(f"{method}, {form}", partial(_test, how, method, form))


def _test(how: Run, method: str, form: str) -> pd.DataFrame:
    documents = _documents(how.folder)
    scales: Sequence[float] = FEW_SCALES if form == "three scales" or how.quick else SCALES
    if form == "products":
        prepare = [make_pipeline(SecondOrderFeatures(rho), StandardScaler()) for rho in THRESHOLDS]
        # with more features each coefficient is smaller: the large scales would only take time
        scales = SCALES[2:7:2] if method in CONTRASTIVE else SCALES[:7]
        return compare(documents, method, prepare=prepare, scales=scales)
    found = compare(documents, method, scales=scales, sampled=form == "posterior mean")
    print(method, form, *found.mean().round(4), flush=True)
    return found


def _table(
    how: Run, methods: Iterable[str], form: str = "plain", *, on_page: bool = False
) -> Table:
    """Compute metrics of several methods, and differences of NDCG@5 from PMOP mean."""
    methods = how.chosen(methods)
    if how.quick:
        methods = [method for method in methods if method in QUICK]
    suffix = "" if form == "plain" else f", {form}"
    tested = {REFERENCE: _tested(how, REFERENCE)}
    tested |= {f"{method}{suffix}": _tested(how, method, form) for method in methods}
    rows = differences(tested, REFERENCE)
    shown = pd.DataFrame({"ERR": rows["err"], "NDCG@1": rows["ndcg@1"], "NDCG@5": rows["ndcg@5"]})
    both = zip(rows["ndcg@5 difference"], rows["ndcg@5 se"], strict=True)
    shown["difference (s.e.)"] = [f"{lead:+.4f} ({se:.4f})" for lead, se in both]
    return Table(shown, digits=4, shown=shown if on_page else None)


# Table 2 of the paper, of the Yahoo! challenge. The paper does not say how ListMLE breaks ties.
COLUMNS = ["ERR", "NDCG@1", "NDCG@5"]
PUBLISHED = {
    "likelihoods": pd.DataFrame(
        {
            REFERENCE: [0.5038, 0.7137, 0.6762],
            "PMOP mean, weighted": [0.5054, 0.7115, 0.6763],
            "PMOP max": [0.5034, 0.7118, 0.6707],
            "rank regression": [0.4882, 0.6830, 0.6672],
            "RankNet": [0.4919, 0.6903, 0.6698],
            "ranking SVM": [0.4868, 0.6797, 0.6662],
            "ListMLE, ties at random": [0.4955, 0.6993, 0.6705],
        },
        index=COLUMNS,
    ).T,
    "estimators": pd.DataFrame(
        {
            "PMOP geometric, CD-Gibbs, three scales": [0.5037, 0.7105, 0.6792],
            "PMOP geometric, CD-MH, three scales": [0.5045, 0.7139, 0.6790],
            "PMOP harmonic, CD-Gibbs, three scales": [0.5018, 0.7029, 0.6663],
        },
        index=COLUMNS,
    ).T,
    "ties": pd.DataFrame(
        {
            "Davidson pairs": [0.4941, 0.6944, 0.6725],
            "Rao-Kupper pairs": [0.4946, 0.6970, 0.6716],
        },
        index=COLUMNS,
    ).T,
    "products": pd.DataFrame(
        {
            "PMOP mean, products": [0.5086, 0.7272, 0.6858],
            "PMOP mean, weighted, products": [0.5099, 0.7243, 0.6835],
            "PMOP max, products": [0.5037, 0.7143, 0.6704],
            "PMOP geometric, CD-Gibbs, products": [0.5040, 0.7124, 0.6706],
            "PMOP geometric, CD-MH, products": [0.5053, 0.7122, 0.6713],
            "PMOP harmonic, CD-Gibbs, products": [0.5013, 0.7026, 0.6749],
            "rank regression, products": [0.4971, 0.7021, 0.6752],
            "RankNet, products": [0.5049, 0.7183, 0.6836],
            "ranking SVM, products": [0.4970, 0.7009, 0.6733],
            "ListMLE, ties at random, products": [0.5030, 0.7172, 0.6810],
            "Davidson pairs, products": [0.5013, 0.7131, 0.6786],
            "Rao-Kupper pairs, products": [0.5030, 0.7136, 0.6793],
        },
        index=COLUMNS,
    ).T,
}

TABLES = {
    "likelihoods": partial(_table, methods=LIKELIHOODS, on_page=True),
    "estimators": partial(_table, methods=ESTIMATORS, form="three scales", on_page=True),
    "ties": partial(_table, methods=TIES),
    "products": partial(_table, methods=PRODUCTS, form="products"),
    "posterior": partial(_table, methods=[REFERENCE], form="posterior mean"),
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run(
        "pmop_documents", TABLES, published=PUBLISHED, data="MQ2008", files="S*[1-5].txt",
        arguments=arguments,
    )  # fmt: skip


if __name__ == "__main__":
    main()
