"""Tables in partitions: the same counts as from the whole table, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesrank as br

dd = pytest.importorskip("dask.dataframe")

SIDES = {"first": "x", "second": "y"}


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(0)
    n = 5000
    first = rng.integers(6, size=n)
    return pd.DataFrame(
        {
            "x": pd.Categorical.from_codes(first, list("fedcba")),
            "y": np.array(list("fedcba"))[(first + rng.integers(1, 6, size=n)) % 6],
            "vote": rng.choice(["first", "second", "tie"], n),
            "who": rng.choice(["ann", "bob"], n),
            "day": rng.integers(3, size=n),
            "n": rng.integers(0, 4, size=n),
        }
    )


def parts(frame, n=37):
    return dd.from_pandas(frame, npartitions=n)


@pytest.mark.parametrize(
    "options",
    [{}, {"judge": "who", "by": "day"}, {"count": "n", "by": ["day", "who"]}, {"weight": "day"}],
    ids=str,
)
def test_pairs_are_those_of_the_whole_table(votes, options):
    whole = br.Pairs.from_frame(votes, **SIDES, outcome="vote", **options)
    assert br.Pairs.from_dask(parts(votes), **SIDES, outcome="vote", **options) == whole


@pytest.mark.parametrize("options", [{}, {"ranker": "who"}, {"problem": "day"}], ids=str)
def test_counts_are_those_of_the_whole_table(votes, options):
    whole = br.PairCounts.from_frame(votes, **SIDES, count="n", **options)
    found = br.PairCounts.from_dask(parts(votes), **SIDES, count="n", **options)
    assert found.to_frame().equals(whole.to_frame())
    once = br.PairCounts.from_dask(parts(votes), **SIDES, **options)
    assert once.to_frame().equals(
        br.PairCounts.from_frame(votes.assign(n=1), **SIDES, count="n", **options).to_frame()
    )


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # which dask uses
def test_a_folder_of_files(votes, tmp_path):
    parts(votes.assign(x=votes["x"].astype(str)), 5).to_parquet(tmp_path / "votes")
    found = br.Pairs.from_dask(dd.read_parquet(tmp_path / "votes"), **SIDES, outcome="vote")
    assert found == br.Pairs.from_frame(
        votes.assign(x=votes["x"].astype(str)), **SIDES, outcome="vote"
    )


def test_refusals(votes):
    with pytest.raises(TypeError, match="Expected a dask DataFrame; got DataFrame"):
        br.Pairs.from_dask(votes, **SIDES, outcome="vote")
    with pytest.raises(ValueError, match="'result'"):
        br.Pairs.from_dask(parts(votes), **SIDES, outcome="result")
    bad = votes.assign(n=votes["n"].astype(float))
    bad.loc[4999, "n"] = 0.5
    with pytest.raises(ValueError, match=r"In partition 36: A count must be a whole number"):
        br.Pairs.from_dask(parts(bad), **SIDES, outcome="vote", count="n")
    nobody = votes.assign(y=votes["y"].mask(votes.index == 17))
    with warnings.catch_warnings(), pytest.raises(ValueError, match="'y'"):
        br.Pairs.from_dask(parts(nobody), **SIDES, outcome="vote")
