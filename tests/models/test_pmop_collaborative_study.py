"""The study on MovieLens at toy size: what is kept, how it is split, what is compared."""

import numpy as np
import pandas as pd
import pytensor
import pytest

import models.pmop_collaborative.study as study
from models.pmop_collaborative import protocol
from models.pmop_collaborative.model import predict
from tests.models.rated import TWO, taste


def test_a_split_gives_each_user_as_many_and_none_twice():
    parts = protocol.split(taste(4, 9), [3, 2], at_least=9, seed=1)
    assert [part.groupby("user").size().unique().tolist() for part in parts] == [[3], [2], [4]]
    assert not pd.concat(parts)[["user", "movie"]].duplicated().any()
    assert all(part.empty for part in protocol.split(taste(4, 9), [3], at_least=10, seed=1))


def test_the_study_sees_what_the_item_means_do_not():
    names = ("shrunken item mean", "rating factors (ALS)")
    methods = {name: study.METHODS[name] for name in names}
    methods[names[1]] = (methods[names[1]][0], [{"ranker_scale": 1.0}])
    table = study.compare(taste(40, 20), 12, 20, methods=methods)
    assert table.columns.tolist() == ["err", "ndcg@1", "ndcg@5", "ndcg@5 lead", "se"]
    assert table.loc[names[0], "ndcg@5"] < table.loc[names[1], "ndcg@5"] - 0.05
    assert table.loc[names[1], "ndcg@5 lead"] == 0


def test_metrics_are_those_of_the_stars():
    point = {"ranker_factor": np.zeros((2, 1)), "item_factor": np.zeros((3, 1))}
    marks = study.evaluate(point | {"item_bias": np.array([2.0, 1.0, 3.0])}, TWO)
    assert marks.index.tolist() == ["Ann", "Bo"]
    # Ann is shown c, a, b as she likes them; Bo c (1 star) before b (4 stars), gains 1 and 15
    assert marks["ndcg@1"].tolist() == pytest.approx([1.0, 1 / 15])
    ideal = 15 + 1 / np.log2(3)
    assert marks["ndcg@5"].tolist() == pytest.approx([1.0, (1 + 15 / np.log2(3)) / ideal])


# two users gave the same stars to all that they are trained on
@pytest.mark.filterwarnings("ignore:.*hold one item or one block:UserWarning")
@pytest.mark.slow
def test_the_study_in_its_reduced_size(data_dir):
    folder = str(data_dir / "ml-100k")
    tables = study.main([folder, "--quick", "--table", "ten", "--table", "fifty"])
    rows = tables["ten"].rows
    assert list(rows.index) == list(study.QUICK)
    # one split and one scale of each kind; with 50 ratings there are many modes
    expected = [0.6767, 0.6693, 0.6621, 0.6850, 0.6815]
    np.testing.assert_allclose(rows["NDCG@5"].astype(float), expected, atol=0.005)
    expected = [0.6858, 0.6803, 0.6777, 0.7035, 0.6849]
    np.testing.assert_allclose(tables["fifty"].rows["NDCG@5"].astype(float), expected, atol=0.01)


# Studies


@pytest.mark.slow
@pytest.mark.parametrize("method", study.METHODS)
def test_every_method_of_the_table_learns_what_all_users_like(method):
    ratings = taste(12, 6).assign(rating=lambda frame: 1 + frame["movie"] % 5)
    rankings = protocol.to_rankings(ratings, pd.Index(range(6)))
    fit, scales = study.METHODS[method]
    with pytensor.config.change_flags(mode="FAST_COMPILE"):
        found = fit(rankings, scales[-2:])
    assert len(found) == min(2, len(scales))
    for point in found:
        utility = predict(point, np.arange(12)[:, None], np.arange(6))
        assert (np.diff(utility[:, :5], axis=1) > 0).all()
