"""Section of a report about columns of the table that the model does not use."""

import json
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bayesrank.cli.options import ARGUMENTS
from bayesrank.cli.parts import Part, counted
from bayesrank.cli.texts import paragraphs
from bayesrank.data import Pairs, Rankings
from bayesrank.results import column_checks, column_notes
from bayesrank.tables.words import on_shell

GROUP = "columns"  # of a saved posterior
OWN = ("category", "neutral", "date")  # groups that are not clusters


def tested_columns(data: Rankings | Pairs, seed: int) -> pd.DataFrame:
    """Test the columns that the reader of the data did not use."""
    groups = data.groups
    several = "category" in groups and len(groups["category"].labels) > 1
    return column_checks(
        data,
        category="category" if several else None,
        neutral="neutral" if "neutral" in groups else None,
        clusters=[name for name in groups if name not in OWN],
        random_seed=seed,
    )


def keep_columns(posterior: Any, table: pd.DataFrame) -> None:
    """Store the tests with a posterior, if there are any, so that its report can be repeated."""
    if table["p"].notna().any():
        leaders = [json.dumps({str(k): str(v) for k, v in x.items()}) for x in table["leaders"]]
        kept = table.assign(leaders=leaders).astype({"kind": object, "note": object})
        posterior[GROUP] = xr.DataTree(kept.to_xarray())


def columns_part(posterior: Any) -> Part | None:
    """Say which unused columns decide the order of the items, and what to do."""
    if GROUP not in posterior.children:
        return None
    try:
        table = posterior[GROUP].to_dataset().to_dataframe()
        table["leaders"] = table["leaders"].map(json.loads)
        table["fires"] = table["fires"].astype(bool)
        notes = [on_shell(note, ARGUMENTS) for note in column_notes(table)]
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
        files={file: counted(flat)},
        printed=False,
        failures=notes,
        data={"columns": table},
    )
