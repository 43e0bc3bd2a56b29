"""The command ``bayesrank rank``: what it fits, and what it says beside the ranks."""

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bayesrank.cli.run import Fit, Job, Part, Sampler, cautions_of

if TYPE_CHECKING:
    import pandas as pd

    from bayesrank.data import Rankings

# PyMC takes seconds to import: functions import what they need, so that --help is instant.

# Up to which the scale of their utilities is learned of few. Of 300 ballots of five items 2 in
# 4,000 steps diverge with the default target of acceptance, 0.8, none with 0.95, in the same time.
FEW_ITEMS = 20
LEAST_RANKERS = 1000  # that stand for all


def rank_job(rankings: "Rankings", title: str, fit: Fit, *, kinds: int = 0) -> Job:
    """Say what is to be done with rankings: Plackett-Luce, or so many kinds of rankers of it."""
    group = rankings.groups.get("category")
    categories = group is not None and len(group.labels) > 1

    @functools.cache
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

    def parts(posterior: Any, predicted: Any, summary: Any, _: Sampler) -> list[Part]:
        import numpy as np

        from bayesrank.cli import counted_sections, match_sections, sections

        by_category: list[Part] = []
        if categories and group is not None:
            n = np.bincount(group.idx, rankings.weight, len(group.labels))
            labels = rankings.coords["category"]
            by_category = match_sections.categories(posterior, labels, n, "Rankings", summary, fit)
        out = [
            *by_category,
            sections.predictions(predicted, "ranker", "ranking", among=rankings.n_rankings),
            sections.checks(predicted, kinds=bool(kinds), among=rankings.n_rankings),
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

    def some(entries: int) -> Job | None:
        import numpy as np

        n = len(rankings.rankers) * entries // rankings.item.size
        if n < LEAST_RANKERS:
            return None
        chosen = np.random.default_rng(fit.seed).permutation(len(rankings.rankers))[:n]
        rows = np.isin(rankings.ranker_idx, chosen)
        return rank_job(rankings.subset(rows), title, fit)

    few = rankings.n_items <= FEW_ITEMS
    job = Job(
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
        nuts=lambda _: {"target_accept": 0.95} if few and fit.prior_scale is None else {},
        request={"command": "rank"},
        checked=[("utility", "item"), *([("category_utility", "item")] * categories)],
        entries=rankings.item.size,
        simulated=True,
        some=some,
    )
    return _of_kinds(job, rankings, fit, kinds) if kinds else job


def _of_kinds(job: Job, rankings: "Rankings", fit: Fit, n_kinds: int) -> Job:
    """Have the job be done for kinds of rankers."""

    def parts(posterior: Any, predicted: Any, summary: Any, sampler: Sampler) -> list[Part]:
        from bayesrank.cli import kinds

        own = kinds.sections(build(), posterior, predicted, rankings, summary, fit)
        return [*own, *job.parts(posterior, predicted, summary, sampler)]

    @functools.cache
    def build() -> Any:
        from bayesrank.cli import kinds

        return kinds.kinds_model(rankings, n_kinds, fit)

    def moved(posterior: Any) -> Any:
        from bayesrank.cli import kinds

        return kinds.in_order(posterior, rankings)

    def start(model: Any, note: Any) -> dict[str, Any]:
        from bayesrank.cli import kinds

        return kinds.first_kinds(model, fit.seed, note)

    def headline(posterior: Any) -> str:
        from bayesrank.cli import kinds

        return kinds.headline(posterior, fit)

    def cautions() -> list[str]:
        _refuse_kinds(rankings, n_kinds)
        return job.cautions()

    return replace(
        job,
        build=build,
        model=f"{job.model}; {n_kinds} kinds of rankers, with utilities each",
        cautions=cautions,
        parts=parts,
        moved=moved,
        nuts=lambda _: {},
        start=start,
        headline=headline,
        some=None,
        request={**job.request, "kinds": n_kinds},
        checked=[*job.checked, ("kind_utility", "item")],
        entries=job.entries * n_kinds,
    )


def _refuse_kinds(rankings: "Rankings", n_kinds: int) -> None:
    """Refuse kinds of which nothing can be known."""
    n = len(rankings.rankers)
    if n_kinds >= n:
        raise ValueError(
            f"--kinds {n_kinds} asks for {n_kinds} kinds of {n} ranker{'s' * (n != 1)}: there must "
            "be more rankers than kinds, and to be found a kind needs several."
        )
    if n < rankings.n_rankings and (rankings.weight != 1).any():
        raise ValueError(
            "With --kinds the rankings of a ranker are all of one kind, and with --weight each of "
            "them counts several times: whether so many rankers said so, or one of them so many "
            "times, is not known. Leave --ranker out if the first, or --weight."
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
