"""Document ranking on MQ2008: likelihoods of graded lists compared by cross-validation.

Features and prior scale are chosen on the validation part of every turn, for each method by itself.
``RESULTS.md`` has the figures. The paper's own, its Table 2, are of the Yahoo! Learning to Rank
Challenge, which is not MQ2008, and cannot stand beside them.

Run ``python -m models.pmop_documents.study FOLDER`` with the folder of MQ2008 (S1.txt to S5.txt),
by default ``MQ2008`` below ``BAYESRANK_DATA``.
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
from models.pmop_documents.model import build, path_of, posterior_mean
from models.pmop_documents.second_order import SecondOrderFeatures
from models.shared.letor import Part, folds, read_parts
from models.shared.results import Run, Table, run

# Scales of the coefficients (of standardised features) that the validation part chooses from
SCALES = (0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6)
FEW_SCALES = (0.03, 0.1, 0.3)  # of contrastive divergence, whose noise tells no more apart
THRESHOLDS = (0.25, 0.2, 0.15)  # of the correlation of a product of features with the grade
MAX_GRADE = 2  # of MQ2008
DEPTHS = (1, 5)  # of NDCG
REFERENCE = "PMOP mean"


def evaluate(part: Part, coefficient: NDArray[np.float64]) -> pd.DataFrame:
    """ERR and NDCG of each query under linear utilities."""
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
    """Metrics of every test query under a method.

    The features (one of `prepare`) and the prior scale are chosen on the validation part. With
    `sampled`, the method has its posterior mean where it otherwise has its mode.
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
    """Means over queries, how far each is from `reference`, and the standard error of that.

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
# The paper's estimators beside the exact likelihood, all with the same few scales
ESTIMATORS = (
    "PMOP geometric", "PMOP geometric, CD-Gibbs", "PMOP geometric, CD-MH",
    "PMOP harmonic", "PMOP harmonic, CD-Gibbs",
)  # fmt: skip
TIES = (REFERENCE, "Davidson pairs", "Rao-Kupper pairs")
PRODUCTS = (
    REFERENCE, "PMOP mean, weighted", "rank regression", "regression on grades", "RankNet",
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
        return compare(documents, method, prepare=prepare, scales=SCALES[:7])
    found = compare(documents, method, scales=scales, sampled=form == "posterior mean")
    print(method, form, *found.mean().round(4), flush=True)
    return found


def _table(
    how: Run, methods: Iterable[str], form: str = "plain", *, on_page: bool = False
) -> Table:
    """Metrics of some methods, and how far NDCG@5 is from that of PMOP mean without products."""
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


TABLES = {
    "likelihoods": partial(_table, methods=LIKELIHOODS, on_page=True),
    "estimators": partial(_table, methods=ESTIMATORS, form="three scales", on_page=True),
    "ties": partial(_table, methods=TIES),
    "products": partial(_table, methods=PRODUCTS, form="products"),
    "posterior": partial(_table, methods=[REFERENCE], form="posterior mean"),
}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the tables and write them into ``RESULTS.md``."""
    return run("pmop_documents", TABLES, data="MQ2008", files="S*[1-5].txt", arguments=arguments)


if __name__ == "__main__":
    main()
