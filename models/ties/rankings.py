"""What does a tie mean? Compare two models of the same rankings by leave-one-out.

Story: users rate movies, and movies with equal ratings form a block. There are two explanations. In
the first, the user has an order inside a block and does not report it (Plackett-Luce, which
marginalises the order). In the second, the user judges the movies of a block as equally good and
chooses them together (PMOP). Both models give the probability of the weak order given the sizes of
its blocks. So their predictive densities can be compared.

    utility[i]  ~ Normal(0, 1), summing to zero
    ranking[r]  ~ PlackettLuce(utility[item[r]]), cut into the observed blocks, or
                  PMOP(utility[item[r]], aggregate), given the sizes of its blocks

========================  =============  ===============
symbol                    variable       dims
========================  =============  ===============
:math:`w_i`, log worth    ``utility``    item
weak orders               ``y``          ranking, slot
========================  =============  ===============

The paper compares PMOP with Plackett-Luce after sorting breaks the ties. Here Plackett-Luce is
exact for weak orders, and both models condition on the sizes.

`models.ties.model` treats ties in pairs.

Run ``python -m models.ties.rankings [FOLDER]`` with the folder of MovieLens 100K, by default
``ml-100k`` in ``BAYESRANK_DATA``. It uses ten movies and writes its table into ``RESULTS.md``.

References
----------
Truyen, Phung & Venkatesh, Probabilistic models over ordered partitions, SDM 2011.

Ma et al., Learning-to-rank with partitioned preference, AISTATS 2021.
"""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pymc as pm

import bayesrank as br
from bayesrank.inference import sample
from bayesrank.likelihoods.pmop import AGGREGATES
from models.shared.results import Run, Table, run

PLACKETT_LUCE = "Plackett-Luce"
MODELS = (PLACKETT_LUCE, *(f"PMOP {aggregate}" for aggregate in AGGREGATES))


def build(
    rankings: br.Rankings, model: str = PLACKETT_LUCE, *, prior_scale: float = 1.0
) -> pm.Model:
    """Declare one of the models.

    Parameters
    ----------
    rankings : Rankings
        Weak orders, with ties.
    model : str
        One of `MODELS`.
    prior_scale : float
        Standard deviation of the utilities.

    Returns
    -------
    pm.Model
        With the variables utility (item) and y (ranking, slot).

    Raises
    ------
    ValueError
        If there is no such model.

    Examples
    --------
    >>> rankings = br.Rankings.from_orderings([["a", {"b", "c"}], [{"a", "b"}, "c"]])
    >>> [rv.name for rv in build(rankings, "PMOP mean").observed_RVs]
    ['y']
    """
    if model not in MODELS:
        raise ValueError(f"`model` is {model!r}; it is one of {', '.join(map(repr, MODELS))}.")
    with pm.Model(coords=rankings.coords) as built:
        utility = pm.ZeroSumNormal("utility", prior_scale, dims="item")
        if model == PLACKETT_LUCE:
            br.PlackettLuce("y", utility, observed=rankings)
        else:
            aggregate = model.removeprefix("PMOP ")
            br.PMOP("y", utility, aggregate=aggregate, given_sizes=True, observed=rankings)
    return built


def compared(
    rankings: br.Rankings, models: tuple[str, ...] = MODELS, **sampling: Any
) -> pd.DataFrame:
    """Sample every model and compare them by leave-one-out."""
    fitted = {}
    for name in models:
        with build(rankings, name):
            fitted[name] = sample(**sampling)
            pm.compute_log_likelihood(fitted[name], progressbar=False)
    return br.compare(fitted)


def popular(ratings: br.Rankings, n_items: int = 10) -> br.Rankings:
    """Select the most ranked items, and the rankings in which two of them differ."""
    rows = ratings.to_frame()
    rows = rows[rows["item"].isin(rows["item"].value_counts().index[:n_items])]
    rows = rows[rows.groupby("ranker")["rank"].transform("nunique") > 1]
    rows = rows.assign(rank=rows.groupby("ranker")["rank"].rank("dense"))
    return br.Rankings.from_long_ranks(rows, ranker="ranker", item="item", rank="rank")


def movies(how: Run) -> Table:
    """Compare the models on the ten most rated movies."""
    few = popular(br.load_movielens(how.folder))
    # The harmonic mean given sizes takes about ten times as long as the others.
    names = tuple(name for name in MODELS if name != "PMOP harmonic")
    options: dict[str, Any] = {"draws": 500, "tune": 500, "chains": 2, "random_seed": 1}
    if how.quick:
        names, options["draws"], options["tune"] = names[:2], 100, 200
    rows = compared(few, names, progressbar=False, **options)[["elpd", "se", "elpd_diff", "dse"]]
    return Table(rows, digits=1, corner=f"{few.n_rankings} users")


TABLES: dict[str, Callable[[Run], Table]] = {"movies": movies}


def main(arguments: list[str] | None = None) -> dict[str, Table]:
    """Compute the table and write it into ``RESULTS.md``."""
    return run(
        "ties", TABLES, module="rankings", data="ml-100k", files="u.data", arguments=arguments
    )


if __name__ == "__main__":
    main()
