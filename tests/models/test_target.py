"""The studies of people as the target and of votes in both orders: simulations, small tables."""

from pathlib import Path

import numpy as np
import pytest

from models.shared.results import Run
from models.swaps import model as swaps
from models.swaps import study as swaps_study
from models.target import model as target
from models.target import study as target_study


def test_arenas_have_votes_of_both_kinds_and_centred_utilities():
    arena = target.simulate(1, 0.5, people=30, machines=90)
    assert arena.votes.n_matches == 120
    assert arena.utility.sum() == pytest.approx(0)
    mine = target.votes_of(arena, target.PEOPLE)
    assert (mine.n_matches, [*mine.judges]) == (30, ["crowd"])
    assert target.votes_of(arena, target.TARGET) is arena.votes
    np.testing.assert_allclose(
        target.outcomes_of(np.array([0.0, np.log(4)])), [[1 / 3] * 3, [4 / 7, 1 / 7, 2 / 7]]
    )


def test_each_prompt_is_judged_in_both_orders():
    judged = swaps.simulate(1, 2.0, prompts=20)
    votes = judged.votes
    assert len(votes.group_labels("swap")) == 20
    assert votes.n_matches == 40
    again = swaps.simulate(2, 0.0, prompts=20).votes
    assert [*again.group_labels("swap")] == [*votes.group_labels("swap")]
    assert not np.array_equal(again.counts, votes.counts)


@pytest.mark.slow
def test_a_target_narrows_the_intervals_of_people():
    rows = target_study.coverage_table(Run(Path(), quick=True, seed=1)).rows
    _, joint, alike = rows.to_dict("index").values()
    assert joint["width / alone"] < 1
    assert joint["coverage"] >= 0.5
    assert alike["RMSE / alone"] > joint["RMSE / alone"]


@pytest.mark.slow
def test_votes_in_both_orders_are_worth_less_than_two():
    rows = swaps_study.coverage_table(Run(Path(), quick=True, seed=1)).rows
    joined, apart = rows.to_dict("index").values()
    assert joined["width"] > 1.1 * apart["width"]
    assert apart["factor"] < 0.9
