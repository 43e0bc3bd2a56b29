"""Read LETOR's collections of judged documents in five parts, and cross-validate on them.

Queries are rankers, documents are items, and a grade is a block: its documents are judged equal. In
each fold of the cross-validation, three parts are for training, the next for validation and the
last for testing. The next fold shifts all parts by one.

>>> [[int((part - first) % 5) for part in range(5)] for first in range(2)]  # 3: validate, 4: test
[[0, 1, 2, 3, 4], [4, 0, 1, 2, 3]]
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_svmlight_file

from bayesrank.data import Rankings, UninformativeRankingWarning

__all__ = ["Fold", "Part", "Turn", "folds", "read_parts", "turns"]

N_PARTS = 5
COLUMNS = ["part", "query", "grade"]


class Part(NamedTuple):
    """Judged documents."""

    rankings: Rankings  # queries as rankers, grades as blocks, within them the file's order
    grades: NDArray[np.float64]  # (n_rankings, n_slots), 0 in empty slots

    @property
    def features(self) -> NDArray[np.float64]:
        """Features of the documents, (n_documents, n_features): the slots in use row by row."""
        if self.rankings.features is None:
            raise ValueError("The `rankings` of this part have no features; give them some.")
        return self.rankings.features[self.rankings.mask]


class Fold(NamedTuple):
    """Parts of one fold of the cross-validation."""

    train: Part
    validation: Part
    test: Part


class Turn(NamedTuple):
    """Rows of one fold of the cross-validation, as masks of shape (n_documents,)."""

    train: NDArray[np.bool_]
    validation: NDArray[np.bool_]
    test: NDArray[np.bool_]


def read_parts(folder: str | Path, *, n_features: int = 46) -> pd.DataFrame:
    """Read S1.txt to S5.txt.

    Parameters
    ----------
    folder : path
        Where the five files are.
    n_features : int
        Number of features; 46 in LETOR 4.0.

    Returns
    -------
    DataFrame
        One row per document, in the order of the files: part (0 to 4), query, grade, and the
        features x1, x2, ...

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file does not parse.

    Examples
    --------
    >>> read_parts("MQ2008").shape  # doctest: +SKIP
    (15211, 49)
    """
    names = [f"x{f}" for f in range(1, n_features + 1)]
    frames = []
    for number in range(N_PARTS):
        features, grade, query = load_svmlight_file(
            Path(folder) / f"S{number + 1}.txt",
            n_features=n_features,
            query_id=True,
            zero_based=False,
        )
        documents = pd.DataFrame(features.toarray(), columns=names)
        frames.append(documents.assign(part=number, query=query, grade=grade))
    return pd.concat(frames, ignore_index=True)[[*COLUMNS, *names]]


def turns(part: pd.Series) -> Iterator[Turn]:
    """Rotate the five parts: three for training, one for validation, one for testing.

    Parameters
    ----------
    part : Series of int
        The part of each row, 0 to 4: the column of that name.

    Yields
    ------
    Turn
        Five of them.

    Examples
    --------
    >>> [turn.test.tolist() for turn in turns(pd.Series([0, 4, 4]))][:2]
    [[False, True, True], [True, False, False]]
    """
    number = part.to_numpy()
    for first in range(N_PARTS):
        turn = (number - first) % N_PARTS
        yield Turn(turn <= 2, turn == 3, turn == 4)


def folds(documents: pd.DataFrame, prepare: BaseEstimator) -> Iterator[Fold]:
    """Yield the `turns` of documents, with features prepared on the training parts.

    Parameters
    ----------
    documents : DataFrame
        Like that of `read_parts`: part (0 to 4), query, grade; all other columns are features.
    prepare : transformer of scikit-learn
        What the features go through, fitted on training documents and their grades.

    Yields
    ------
    Fold
        Five of them; the features are in ``rankings.features``, by slot.
    """
    features = documents.drop(columns=COLUMNS)
    for turn in turns(documents["part"]):
        fitted = clone(prepare).fit(features[turn.train], documents["grade"][turn.train])
        yield Fold(*(_part(documents[chosen], fitted, features[chosen]) for chosen in turn))


def _part(documents: pd.DataFrame, fitted: BaseEstimator, features: pd.DataFrame) -> Part:
    names = fitted.get_feature_names_out().tolist()
    prepared = pd.DataFrame(np.asarray(fitted.transform(features)), documents.index, names)
    frame = prepared.assign(
        query=documents["query"], grade=documents["grade"], document=range(len(prepared))
    )
    with warnings.catch_warnings():
        # queries without a relevant document: one block of all is an outcome to models with ties
        warnings.simplefilter("ignore", UninformativeRankingWarning)
        rankings = Rankings.from_ratings(
            frame, ranker="query", item="document", rating="grade", features=names
        )
    entries = rankings.item[rankings.mask]  # rows of the documents, which are their labels
    grades = np.zeros(rankings.ranks.shape)
    grades[rankings.mask] = documents["grade"].to_numpy()[entries]
    return Part(rankings, grades)
