"""Document ranking on MQ2008: likelihoods of graded lists compared by cross-validation.

Features and prior scale are chosen on the validation part of every turn, for each method by itself.
``RESULTS.md`` has the figures.

Run ``python -m models.pmop_documents.study FOLDER`` with the folder of MQ2008 (S1.txt to S5.txt),
and the names of methods, if not all of those that are quick.
"""

import argparse
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bayesrank.results import query_metrics
from bayesrank.utility import SecondOrderFeatures
from models.pmop_documents.model import METHODS, build, map_path, posterior_mean
from models.shared.letor import Part, folds, read_parts

# Scales of the coefficients (of standardised features) that the validation part chooses from
SCALES = (0.003, 0.006, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.6)
THRESHOLDS = (0.25, 0.2, 0.15)  # of the correlation of a product of features with the grade
MAX_GRADE = 2  # of MQ2008
DEPTHS = (1, 5)  # of NDCG
SLOW = ("PMOP geometric", "PMOP harmonic", "Davidson pairs", "Rao-Kupper pairs")
WITH_PRODUCTS = ("PMOP mean", "PMOP mean, weighted", "rank regression", "RankNet", "Plackett-Luce")


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
    methods: Iterable[str],
    *,
    prepare: Sequence[BaseEstimator] = (StandardScaler(),),
    scales: Sequence[float] = SCALES,
    sampled: Container[str] = (),
) -> dict[str, pd.DataFrame]:
    """Metrics of every test query under every method.

    The features (one of `prepare`) and the prior scale are chosen on the validation part, for
    each method by itself. Methods in `sampled` have a second row: posterior means where the
    first has posterior modes.
    """
    tested: dict[str, list[pd.DataFrame]] = defaultdict(list)
    turns = zip(*(folds(documents, transformer) for transformer in prepare), strict=True)
    for number, prepared in enumerate(turns, start=1):
        for method in methods:
            fits = []
            for fold in prepared:
                model = build(fold.train, method)
                for scale, beta in zip(scales, map_path(model, scales), strict=True):
                    gain = evaluate(fold.validation, beta).mean().sum()
                    fits.append((gain, model, scale, fold.test, beta))
            _, model, scale, test, beta = max(fits, key=lambda fit: fit[0])
            found = {method: beta}
            if method in sampled:
                found[f"{method}, posterior mean"] = posterior_mean(model, scale)
            for name, beta in found.items():
                tested[name].append(pd.concat({number: evaluate(test, beta)}, names=["fold"]))
    return {name: pd.concat(rows) for name, rows in tested.items()}


def table(tested: Mapping[str, pd.DataFrame], reference: str) -> pd.DataFrame:
    """Means over queries, how far each is from `reference`, and the standard error of that.

    The differences are paired: query by query.
    """
    rows = {}
    for method, queries in tested.items():
        lead = queries - tested[reference]
        paired = lead.mean().add_suffix(" difference"), lead.sem().add_suffix(" se")
        rows[method] = pd.concat([queries.mean(), *paired])
    return pd.DataFrame(rows).T


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compare likelihoods of judged documents.")
    parser.add_argument("folder", help="with S1.txt to S5.txt of MQ2008")
    parser.add_argument("method", nargs="*", help="which; the differences are from the first")
    parser.add_argument("--all", action="store_true", help="also the methods that take minutes")
    arguments = parser.parse_args()

    documents = read_parts(arguments.folder)
    quick = [method for method in METHODS if method not in SLOW]
    chosen = arguments.method or (list(METHODS) if arguments.all else quick)
    tested = compare(documents, chosen, sampled=["PMOP mean"])
    products = [make_pipeline(SecondOrderFeatures(rho), StandardScaler()) for rho in THRESHOLDS]
    again = [method for method in chosen if method in WITH_PRODUCTS]
    # with more features each coefficient is smaller: the large scales would only take time
    second = compare(documents, again, prepare=products, scales=SCALES[:7])
    tested |= {f"{method}, products": queries for method, queries in second.items()}
    print(table(tested, chosen[0]).round(4).to_string())
