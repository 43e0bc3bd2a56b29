"""Made-up search engines: five parts of queries whose documents have grades and ranks."""

import numpy as np
import pandas as pd

NOISE = {"engine1": 0.3, "engine2": 0.5, "engine3": 1.0, "engine4": None}  # the last is at random
LISTED = 0.7  # of the documents, the best by what the engine thinks


def searched(n_queries: int = 40, n_documents: int = 8, *, seed: int = 1) -> pd.DataFrame:
    """Simulate a table like that of `read_aggregation_parts`."""
    rng = np.random.default_rng(seed)
    tables = []
    for query in range(n_queries):
        worth = rng.normal(size=n_documents)
        table = pd.DataFrame(
            {
                "part": 5 * query // n_queries,
                "query": query,
                "document": range(n_documents),
                "label": np.digitize(worth, [0.5, 1.2]),
            }
        )
        for engine, noise in NOISE.items():
            seen = rng.normal(size=n_documents) * (noise or 1.0) + (worth if noise else 0.0)
            rank = np.argsort(np.argsort(-seen)) + 1.0
            # its list goes on beyond these documents
            table[engine] = np.where(rank <= LISTED * n_documents, rank * 3, np.nan)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)
