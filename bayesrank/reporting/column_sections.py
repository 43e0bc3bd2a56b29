"""Section of a report about columns of the table that the model does not use."""

import json
from typing import Any

import numpy as np
import pandas as pd

from bayesrank.analysis.unused_columns import GROUP
from bayesrank.reporting.parts import Part, mark_counted
from bayesrank.results import column_notes
from bayesrank.texts import paragraphs


def columns_part(posterior: Any) -> Part | None:
    """Say which unused columns decide the order of the items, and what to do."""
    if GROUP not in posterior.children:
        return None
    try:
        table = posterior[GROUP].to_dataset().to_dataframe()
        table["leaders"] = table["leaders"].map(json.loads)
        table["fires"] = table["fires"].astype(bool)
        notes = list(column_notes(table))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"The tests of columns in the posterior are damaged: {error}") from error
    tested = int(table["p"].notna().sum())
    shown = pd.DataFrame(
        {
            "Labels": table["n_labels"].astype(str),
            "p": [f"{p:.4f}" if np.isfinite(p) else "" for p in table["p"]],
            "Found": np.where(
                table["fires"], "strengths differ", np.where(table["p"].notna(), "", table["note"])
            ),
        },
        index=pd.Index(table.index, name="Column"),
    )
    file = "columns.csv"
    flat = table.assign(leaders=table["leaders"].map(json.dumps))
    return Part(
        "Columns that the model does not use",
        paragraphs("columns", tested=tested, found=notes),
        shown,
        file=file,
        files={file: mark_counted(flat)},
        printed=False,
        failures=notes,
        data={"columns": table},
    )
