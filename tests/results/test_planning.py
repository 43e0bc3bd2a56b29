"""Which matches to play next, against mutual information by hand, and whether they help."""

import numpy as np
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.results import outcome_probability


def posterior(draws, nu=None):
    draws = np.asarray(draws, float)
    found = {"utility": (("chain", "draw", "item"), draws)}
    if nu is not None:
        found["nu"] = (("chain", "draw"), np.asarray(nu, float))
    return xr.Dataset(found, coords={"item": [f"i{k}" for k in range(draws.shape[2])]})


def entropy(p):
    p = p[p > 0]
    return -(p * np.log(p)).sum()


def information(utility, nu, one, other, top):
    """Mutual information by its definition, from a table of outcomes and memberships."""
    p = outcome_probability(utility[:, one] - utility[:, other], nu)
    place = (-utility).argsort(1).argsort(1)
    total = 0.0
    for item in range(utility.shape[1]):
        among = place[:, item] < top
        table = np.stack([p[among].sum(0), p[~among].sum(0)]) / len(utility)
        total += entropy(table.sum(0)) + entropy(table.sum(1)) - entropy(table.ravel())
    return total


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("top", [1, 2])
def test_the_gain_is_the_mutual_information(ties, top):
    rng = np.random.default_rng(1)
    utility = rng.normal([1.0, 0.8, 0.3, -1.0], 0.4, (500, 4))
    nu = rng.lognormal(size=500) if ties else None
    expected = {
        (i, j): information(utility, nu, i, j, top) for i in range(4) for j in range(i + 1, 4)
    }
    row = br.next_matches(
        posterior(utility[None], None if nu is None else nu[None]), 1, top=top, random_seed=0
    )
    row = row.iloc[0]
    pair = tuple(sorted((int(row["item"][1]), int(row["item_other"][1]))))
    assert pair == max(expected, key=expected.get)
    assert row["gain"] == pytest.approx(expected[pair], rel=1e-9)
    assert 0 < row["gain"] < row["doubt"]
    assert row["p_better"] >= 0.5


def test_a_batch_does_not_ask_the_same_twice():
    """Two pairs are in doubt alike: after a match of the one, the other is worth more."""
    rng = np.random.default_rng(2)
    leads = rng.normal(0.0, 2.0, (2000, 2))
    utility = np.stack([5 + leads[:, 0], 5 * np.ones(2000), leads[:, 1], np.zeros(2000)], axis=1)
    chosen = br.next_matches(posterior(utility[None]), 2, top=3, random_seed=0)
    pairs = [frozenset(pair) for pair in chosen[["item", "item_other"]].values]
    # the third place is between the last two alone; with top=3 the first two are in for sure
    assert pairs[0] == {"i2", "i3"}
    chosen = br.next_matches(posterior(utility[None]), 1, top=1, random_seed=0)
    assert {chosen["item"][0], chosen["item_other"][0]} == {"i0", "i1"}


def test_later_gains_are_those_of_futures():
    """The second gain is the mean over what the first match may say, here computed exactly."""
    rng = np.random.default_rng(5)
    utility = np.stack([rng.normal(0, 1, 1500), np.zeros(1500)], axis=1)
    rows = br.next_matches(posterior(utility[None]), 2, random_seed=0)
    p = outcome_probability(utility[:, 0])
    expected = 0.0
    for first in p.T:
        w = first / first.sum()
        better = utility[:, 0] > 0
        table = np.stack(
            [(w[better, None] * p[better]).sum(0), (w[~better, None] * p[~better]).sum(0)]
        )
        expected += (
            first.mean()
            * 2
            * (entropy(table.sum(0)) + entropy(table.sum(1)) - entropy(table.ravel()))
        )
    # 32 futures of two outcomes that tell alike, by symmetry
    assert rows["gain"][1] == pytest.approx(expected, rel=0.05)
    assert rows["gain"][1] < rows["gain"][0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "`n` is 0; it must be a whole number"),
        ({"top": 2}, "^`top` is 2; it must be less than the number of items,"),
    ],
)
def test_bad_plans(options, message):
    with pytest.raises(ValueError, match=message):
        br.next_matches(posterior([[[1.0, 2.0], [2.0, 1.0]]]), **options)
