"""What a model holds of observed `PairCounts`: net counts, tables, and what they are called."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesrank.data import PairCounts, UninformativeRankingWarning

__all__ = ["label_of", "net_counts", "tables_of", "warn_of_empty"]


def net_counts(counts: PairCounts) -> NDArray[np.int32]:
    """Return the net counts in the 32 bits that models hold."""
    net = counts.net()
    if np.abs(net).max(initial=0.0) > np.iinfo(np.int32).max:
        raise ValueError(
            f"A net count is {np.abs(net).max():g}; models hold 32 bits of it. Divide the counts, "
            "and give rankers an evidence weight instead."
        )
    return net.astype(np.int32)


def tables_of(counts: PairCounts, *, equal: bool, given_pairs: bool) -> dict[str, NDArray[Any]]:
    """Return what the likelihood needs beside the net counts, in the order of its parameters."""
    if given_pairs:
        pairs = counts.compared()
        return {
            "ranker": pairs.ranker_idx,
            "first": pairs.first,
            "second": pairs.second,
            "count": pairs.won,
            "compared": pairs.compared.astype(np.int64),
        }
    layout = counts.layout()
    tables: dict[str, NDArray[Any]] = {
        "log_ways": counts.log_multinomial(),
        "totals": np.ascontiguousarray(counts.totals().T).astype(np.int64),
        "item": layout.item,
        "where": layout.where,
    }
    if equal:
        ranker, first, count = counts.net_entries()
        second = np.zeros(0, np.int32)
    else:
        ranker, first, second = counts.ranker_idx, counts.first, counts.second
        count = counts.count
    return tables | {"ranker": ranker, "first": first, "second": second, "count": count}


def label_of(counts: PairCounts, given_pairs: bool) -> str:
    """Say what the log-probability is one of, for `bayesrank.compare`."""
    if (counts.weight != 1).any():
        return "nothing: evidence weights make a pseudo-likelihood"
    given = "how often each pair is compared" if given_pairs else "their sum"
    return f"counts of ordered pairs given {given}"


def warn_of_empty(name: str, counts: PairCounts, stacklevel: int = 4) -> None:
    """Warn of rankers without counts."""
    empty = counts.rankers[counts.total() == 0]
    if len(empty):
        shown = ", ".join(map(repr, empty[:5])) + (", ..." if len(empty) > 5 else "")
        warnings.warn(
            f"{len(empty)} of the {len(counts.rankers)} rankers of {name!r} preferred nothing to "
            f"anything ({shown}): their adherence is its prior.",
            UninformativeRankingWarning,
            stacklevel=stacklevel,
        )
