"""Fit a model: choose between sampling and an approximation, and record what was done."""

import json
import secrets
from collections.abc import Sequence
from typing import Any

import xarray as xr

from bayesrank.analysis.analysis import Analysis, Method, Settings
from bayesrank.analysis.fitting import fit_analysis
from bayesrank.analysis.listener import Listener
from bayesrank.analysis.models import analysis_of
from bayesrank.analysis.readings import keep_scores
from bayesrank.analysis.unused_columns import check_columns, keep_columns

__all__ = ["RECORD", "fit", "record_fit"]

RECORD = "bayesrank"  # attribute of a posterior with what it was made from
SEEDS = 2**31  # number of seeds to choose from
METHODS = ("auto", "nuts", "inla")


def fit(
    model: Any,
    *,
    method: Method = "auto",
    draws: int = 1000,
    tune: int = 500,
    chains: int = 4,
    random_seed: int | None = None,
    top: int = 3,
) -> xr.DataTree:
    """Fit a model of bayesrank: sample the posterior, or approximate it if sampling takes too long.

    Parameters
    ----------
    model : pm.Model
        From `ranking_model`, `choice_model` or `leaderboard_model`, or a `dynamic_model`.
    method : {"auto", "nuts", "inla"}
        "nuts" samples until the ranks are precise. "inla" approximates, as `fit_inla` does. "auto"
        estimates the time of both first. It takes the approximation if importance weights
        make it exact and cheaper than sampling, or if sampling takes more than ten minutes. A note
        says so in the second case.
    draws : int
        Most draws per chain; sampling stops earlier if the ranks are precise.
    tune : int
        Tuning steps per chain.
    chains : int
        Number of chains.
    random_seed : int, optional
        Results are reproducible on one machine, up to rounding. The posterior records it.
    top : int
        The k for which P(top k) must be precise.

    Returns
    -------
    DataTree
        Posterior with the data of the model, for `report`, ArviZ and the other functions. If it is
        approximate, ``posterior.attrs["approximation"]`` says how.

    Raises
    ------
    ValueError
        If no function of bayesrank built the model, or an argument is invalid. Also if the data say
        nothing about ranks, or the memory does not suffice.

    See Also
    --------
    report, ranking_model, leaderboard_model, choice_model, dynamic_model

    Examples
    --------
    >>> import bayesrank as br
    >>> rankings = br.Rankings.from_orderings([["a", "b", "c"]] * 7 + [["c", "a", "b"]] * 3)
    >>> posterior = br.fit(br.ranking_model(rankings), method="inla", random_seed=1)
    >>> br.rank_summary(posterior).index[0]
    'a'
    """
    if method not in METHODS:
        raise ValueError(f"`method` is {method!r}; it must be one of {', '.join(METHODS)}.")
    for name, value in {"draws": draws, "tune": tune, "chains": chains, "top": top}.items():
        if value < 1:
            raise ValueError(f"`{name}` is {value}; it must be 1 or more.")
    seed = secrets.randbelow(SEEDS) if random_seed is None else random_seed
    settings = Settings(method, draws, tune, chains, seed, top)
    analysis, listener = analysis_of(model), Listener()
    for note in (*analysis.data.notes, *map(analysis.named, analysis.cautions())):
        listener.note(note)
    posterior: xr.DataTree = fit_analysis(analysis, settings, listener)
    record_fit(posterior, analysis, settings, listener.notes)
    return posterior


def record_fit(
    posterior: Any, analysis: Analysis, settings: Settings, notes: Sequence[str], **more: Any
) -> Settings:
    """Store what a report needs in a posterior, and return the actual settings."""
    if analysis.has_categories:
        keep_columns(posterior, check_columns(analysis.data, settings.random_seed))
    keep_scores(posterior, analysis.data)
    drawn = posterior["posterior"]
    made = settings._replace(
        draws=drawn.sizes["draw"], tune=drawn.attrs.get("tuning_steps", settings.tune)
    )
    posterior.attrs[RECORD] = json.dumps(
        {
            "kind": analysis.KIND,
            "arguments": analysis.arguments,
            "columns": dict(analysis.columns),
            "ordered": getattr(analysis.data, "ordered", True),
            "settings": made._asdict(),
            "notes": list(notes),
            **more,
        }
    )
    return made
