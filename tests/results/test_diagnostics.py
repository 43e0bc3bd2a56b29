"""Convergence in words, each verdict with draws that deserve it and draws that do not."""

import arviz as az
import numpy as np
import pytest
import xarray as xr

from bayesrank.results import convergence


def tree(draws, diverging=None):
    draws = np.asarray(draws, dtype=float)
    groups = {"posterior": {"utility": draws}}
    if diverging is not None:
        groups["sample_stats"] = {"diverging": diverging}
    return az.from_dict(groups, dims={"utility": ["item"]})


@pytest.fixture
def draws(rng):
    """Give independent draws of three items: four chains of 500."""
    return rng.normal(size=(4, 500, 3))


def test_independent_draws_are_good(draws):
    found = convergence(tree(draws, np.zeros((4, 500), dtype=bool)))
    assert found.ok
    assert found.rhat < 1.01
    assert 1500 < min(found.ess_bulk, found.ess_tail) < 2500
    assert found.divergences == 0
    assert str(found) == (
        f"The chains agree (largest R-hat {found.rhat:.3f}), with at least "
        f"{min(found.ess_bulk, found.ess_tail):,.0f} effective draws of every utility."
    )


def test_a_chain_elsewhere_is_named_a_disagreement(draws):
    draws[0, :, 1] += 3
    found = convergence(tree(draws))
    assert not found.ok
    assert found.rhat > 1.3
    assert found.sentences[0] == (
        f"The chains disagree (largest R-hat {found.rhat:.3f}, should be at most 1.01). Do "
        "not trust the table. Use more tuning steps and draws."
    )


def test_the_worst_item_counts_whatever_the_order_of_the_dims(draws):
    draws[0, :, 1] += 3
    turned = xr.DataArray(draws, dims=("chain", "draw", "item")).transpose("item", "draw", "chain")
    assert convergence(turned).rhat == convergence(tree(draws)).rhat > 1.3


def test_few_effective_draws_are_counted(draws):
    found = convergence(tree(draws[:, :50]))
    assert not found.ok
    assert 100 < min(found.ess_bulk, found.ess_tail) < 400
    assert found.sentences[-1].startswith(
        f"There are only {min(found.ess_bulk, found.ess_tail):.0f} effective draws (should be 400"
    )


@pytest.mark.parametrize("n", [1, 7])
def test_divergences_are_counted(draws, n):
    diverging = np.zeros((4, 500), dtype=bool)
    diverging[2, :n] = True
    found = convergence(tree(draws, diverging))
    assert not found.ok
    assert found.divergences == n
    assert len(found.sentences) == 1
    assert found.sentences[0].startswith(f"{n} of 2,000 steps of the sampler diverged")


def test_all_problems_are_reported_at_once(draws):
    draws[0] += 3
    found = convergence(tree(draws[:, :50], np.ones((4, 50), dtype=bool)))
    starts = [sentence.split()[0] for sentence in found.sentences]
    assert starts == ["The", "There", "200"]
    assert str(found) == " ".join(found.sentences)


def test_a_single_chain_cannot_be_compared(draws):
    found = convergence(tree(draws[:1]))
    assert not found.ok
    assert np.isnan(found.rhat)
    assert found.ess_bulk > 400
    assert found.sentences == (
        "With only one chain, convergence cannot be checked. Use two chains or more.",
    )


def test_a_point_is_no_posterior():
    found = convergence(tree([[[0.3, -0.3]]]))
    assert not found.ok
    assert str(found).startswith("This is a single point, such as a MAP estimate, not a posterior.")


def test_too_few_draws_to_check_are_reported(draws):
    found = convergence(tree(draws[:2, :3]))
    assert not found.ok
    assert str(found) == "There are only 3 draws per chain, too few to check. Use more draws."


def test_four_draws_are_checked(draws):
    assert np.isfinite(convergence(tree(draws[:, :4])).rhat)


def test_an_item_that_is_fixed_is_not_checked(draws):
    draws[:, :, 0] = 0
    found = convergence(tree(draws))
    assert found.ok
    assert found.rhat == convergence(tree(draws[:, :, 1:])).rhat


def test_a_sampler_that_never_moved_is_bad():
    found = convergence(tree(np.ones((4, 100, 2))))
    assert not found.ok
    assert str(found) == "'utility' is constant over all draws, so the sampler did not move."


def test_chains_stuck_in_different_places_disagree():
    stuck = np.broadcast_to(np.arange(4.0)[:, None, None], (4, 100, 1)).copy()
    stuck[:, 0] += 1e-9  # ArviZ divides by the variance within chains
    found = convergence(tree(stuck))
    assert not found.ok
    assert found.sentences[0].startswith("The chains disagree")


def test_other_names_and_groups_are_read(draws):
    skill = xr.DataArray(
        draws[:, :, :, None] * np.ones(2), dims=("chain", "draw", "player", "year")
    ).to_dataset(name="skill")
    found = convergence(skill, "skill", dim="player")
    assert found.rhat == pytest.approx(convergence(tree(draws)).rhat)
    assert str(found).endswith("effective draws of every skill.")


def test_an_unknown_variable_raises(draws):
    with pytest.raises(ValueError, match=r"has no variable 'skill'; it has \['utility'\]"):
        convergence(tree(draws), "skill")
