"""The command ``bayesrank rank``: what it fits, and what it says beside the ranks."""

from typing import TYPE_CHECKING, Any

from bayesrank.cli.run import Fit, Job, Part, cautions_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Rankings

# PyMC takes seconds to import: functions import what they need, so that --help is instant.


def rank_job(rankings: "Rankings", title: str, fit: Fit) -> Job:
    """Say what is to be done with rankings: Plackett-Luce."""
    group = rankings.groups.get("category")
    categories = group is not None and len(group.labels) > 1

    def build() -> Any:
        import pymc as pm

        from bayesrank.distributions import PlackettLuce
        from bayesrank.priors import deviations, utility_prior

        with pm.Model(coords=rankings.coords) as model:
            utility = utility_prior(fit.prior, "utility", sigma=fit.prior_scale, dims="item")
            if categories:
                scale = model["utility_scale"] if fit.prior_scale is None else fit.prior_scale
                dims = ("category", "item")
                apart = deviations(utility, "category", scale / 2, dims)
                utility = pm.Deterministic("category_utility", apart, dims=dims)
            PlackettLuce("y", utility, observed=rankings)
        return model

    def parts(posterior: Any, predicted: Any, summary: Any) -> list[Part]:
        import numpy as np

        from bayesrank.cli import counted_sections, match_sections, sections

        by_category: list[Part] = []
        if categories and group is not None:
            n = np.bincount(group.idx, rankings.weight, len(group.labels))
            labels = rankings.coords["category"]
            by_category = match_sections.categories(posterior, labels, n, "Rankings", summary, fit)
        out = [
            *by_category,
            sections.predictions(predicted, "ranker", "ranking"),
            sections.checks(predicted),
            *counted_sections.counted_rankings(rankings, summary),
            sections.places(posterior, summary),
            sections.wins(posterior, summary, "utility"),
        ]
        return [part for part in out if part is not None]

    def moved(posterior: Any) -> Any:
        from bayesrank.results import redraw_location

        # independent utilities leave their location to the prior, a direction that NUTS finds hard
        if fit.prior != "normal":
            return posterior
        if fit.prior_scale is not None:
            out = redraw_location(posterior, sigma=fit.prior_scale, seed=fit.seed)
            draws = out["posterior"]
        else:
            # of a scale that is learned: standard utilities have a location of their own
            out = redraw_location(posterior, "utility_z", seed=fit.seed)
            draws = out["posterior"]
            moved = draws["utility_scale"] * draws["utility_z"]
            draws["utility"] = moved.transpose(*draws["utility"].dims)
        if categories:  # they go where the mean goes
            before = posterior["posterior"]
            moved = before["category_utility"] + (draws["utility"] - before["utility"])
            draws["category_utility"] = moved.transpose(*before["category_utility"].dims)
        return out

    return Job(
        title=title,
        data=rankings,
        build=build,
        moved=moved,
        model="Plackett-Luce: items are chosen one after the other, each with a probability "
        "proportional to its worth; the order inside ties is unknown"
        + ("; utilities by category around those of the table" if categories else ""),
        cautions=lambda: _cautions(rankings, fit),
        parts=parts,
        seen=lambda: seen(rankings),
        request={"command": "rank"},
        checked=[("utility", "item"), *([("category_utility", "item")] * categories)],
        entries=rankings.item.size,
        simulated=True,
    )


def seen(rankings: "Rankings") -> "pd.Series":
    """How many rankings each item is in, those of a weight so often."""
    import numpy as np
    import pandas as pd

    row, slot = np.nonzero(rankings.mask)
    n = np.bincount(rankings.item[row, slot], rankings.weight[row], rankings.n_items)
    return pd.Series(n, rankings.coords["item"], name="rankings")


def _cautions(rankings: "Rankings", fit: Fit) -> list[str]:
    """Say what a reader should know about the data."""
    found = rankings.connectivity()
    if len(found.uncompared) == rankings.n_items:
        raise ValueError(
            "No ranking puts one item above another, so the data say nothing about ranks. Each "
            "ranker needs two items or more, and not all of them equal."
        )
    out = cautions_of(found, fit)
    if "category" in rankings.groups and len(rankings.groups["category"].labels) == 1:
        label = rankings.groups["category"].labels[0]
        out.append(f"There is one category only ({label!r}): --by changes nothing.")
    if rankings.n_rankings == 1 or len(rankings.rankers) == 1:
        out.append(
            f"There is one ranker only ({rankings.rankers[0]!r}): the result says how one opinion "
            "compares with the prior, not what others would say."
        )
    return out
