"""Practical equivalence of utilities, tied sets, and how many more rankings separate two."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import bayesrank as br
from bayesrank.results import rank_summary, rankings_needed, tied_sets, win_probability


def draws_of(mean, sd, n=400, seed=0):
    rng = np.random.default_rng(seed)
    items = [f"i{k}" for k in range(len(mean))]
    values = rng.normal(mean, sd, (2, n, len(mean)))
    return xr.DataArray(values, {"item": items}, ("chain", "draw", "item"))


U = draws_of([1.0, 0.8, 0.5, -1.0], 0.15)


def test_win_probability_counts_differences_beyond_the_rope():
    p = win_probability(U, rope=0.25)
    values = U.values.reshape(-1, 4)
    for i in range(4):
        for j in range(4):
            expected = np.mean(values[:, i] - values[:, j] > 0.25)
            assert p[i, j] == pytest.approx(expected)
    assert win_probability(U, rope=0.0).equals(win_probability(U))


def test_the_leader_is_better_only_beyond_the_rope():
    plain, wide = rank_summary(U), rank_summary(U, rope=0.3)
    assert plain["status"].tolist() == ["leads", "tied", "behind", "behind"]
    assert wide["status"].tolist() == ["leads", "tied", "tied", "behind"]
    p = win_probability(U, rope=0.3).sel(item="i0", item_other=wide.index[1:])
    assert wide["p_leader_better"].iloc[1:].tolist() == pytest.approx(p.values.tolist())
    changed = ["status", "p_leader_better"]
    assert wide.drop(columns=changed).equals(plain.drop(columns=changed))
    tied = br.tied_with_leader(U, rope=0.3)
    assert tied["status"].values.tolist() == wide["status"][tied.item.values].tolist()


def test_each_set_is_the_one_of_the_leader_without_better_items():
    u = draws_of([1.0, 0.8, 0.6, 0.1, -0.1, -1.0], 0.2)
    order = rank_summary(u).index
    found = tied_sets(u, rope=0.1).sel(item=order, item_other=order)
    for k, item in enumerate(order):
        rest = list(order[k:])
        status = br.tied_with_leader(u.sel(item=rest), rope=0.1)["status"]
        # the leader of the rest is this item, since the order by mean rank is clear
        expected = status["item"].values[status.values != "behind"]
        others = found.sel(item=item)
        assert {*others.item_other.values[others.values]} == {*expected}
        assert status.sel(item=item) == "leads"


@pytest.mark.parametrize(
    "function", [rank_summary, br.tied_with_leader, tied_sets, win_probability]
)
@pytest.mark.parametrize("rope", [-0.1, np.nan, np.inf])
def test_ropes_are_checked(function, rope):
    with pytest.raises(ValueError, match=r"`rope` is .*0 or more"):
        function(U, rope=rope)


def test_more_rankings_separate_as_often_as_in_simulated_futures():
    """Simulate normal observations of the difference, the independent route."""
    n_so_far, further, prior_sd = 20, 30, 1.0
    u = draws_of([0.4, 0.1], 0.2, n=4000)
    lead = (u.sel(item="i0") - u.sel(item="i1")).values.ravel()
    found = rankings_needed(u, n_so_far, prior_sd=prior_sd, at=[further])
    rng, n = np.random.default_rng(5), 20_000
    mean, variance = lead.mean(), lead.var(ddof=1)
    noise = n_so_far / (1 / variance - 1 / (2 * prior_sd**2))  # variance of one observation
    truth = rng.normal(mean, np.sqrt(variance), n)
    seen = rng.normal(truth, np.sqrt(noise / further))
    later = 1 / (1 / variance + further / noise)
    posterior = later * (mean / variance + seen * further / noise)
    p_better = norm.cdf(posterior / np.sqrt(later))
    share = np.mean((p_better >= 0.95) | (p_better <= 0.05))
    p = found.table["p_separated"].loc[further]
    assert abs(share - p) < 5.2 * np.sqrt(p * (1 - p) / n)
    assert found.p_better == pytest.approx(np.mean(lead > 0))


def test_information_of_rankings_grows_as_assumed():
    """Rankings like those so far halve the variance if there are as many again."""
    rng = np.random.default_rng(6)
    utility = np.array([0.6, 0.4, 0.0, -0.5])
    n = 150
    orders = np.argsort(-(utility + rng.gumbel(size=(2 * n, 4))), axis=1).tolist()
    variance = []
    for k in (n, 2 * n):
        fit = br.fit_rankings(
            br.Rankings.from_orderings(orders[:k]), utility_scale=1.0, draws=1000, random_seed=1
        )
        lead = fit["posterior"]["utility"].sel(item=0) - fit["posterior"]["utility"].sel(item=1)
        variance.append(float(lead.var()))
    now, later = 1 / np.array(variance) - 0.5  # without the information of the prior
    assert later / now == pytest.approx(2, rel=0.25)


def test_the_number_is_said_in_words():
    needed = rankings_needed(draws_of([0.5, 0.1, -3.0], 0.3), 10, prior_sd=2.0)
    assert str(needed).startswith("i0 is better than i1 with probability 0.79.")
    assert f"About {int(needed.matches):,} more rankings like those so far would separate" in str(
        needed
    )
    apart = rankings_needed(draws_of([5.0, 0.1], 0.3), 10)
    assert apart.matches == 0
    assert "already separated" in str(apart)
    unknown = rankings_needed(draws_of([0.1, 0.0], 2.0), 10, prior_sd=1.0)
    assert np.isinf(unknown.matches)
    assert "Even 10,000 more rankings like those so far" in str(unknown)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({"so_far": 0}, "`so_far` is 0"),
        ({"so_far": 9, "prior_sd": -1}, "`prior_sd` is -1"),
        ({"so_far": 9, "at": [5, 3]}, "`at` is .*ascending"),
        ({"so_far": 9, "between": ("i0", "x")}, "There is no item 'x'"),
        ({"so_far": 9, "between": ("i0",)}, "name two different items"),
        ({"so_far": 9, "power": 2}, "`power` is 2"),
    ],
)
def test_arguments_are_checked(given, match):
    with pytest.raises(ValueError, match=match):
        rankings_needed(U, **given)
