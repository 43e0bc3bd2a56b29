"""Columns: read numbers from tables and arrays, or raise an error that names the row.

Messages count rows from 0. If the index of a table is not 0, 1, 2, ..., they also give its label.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from difflib import get_close_matches
from numbers import Real
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.read.aligned import has_labels
from bayesrank.data.read.frames import TABLES
from bayesrank.data.read.labels import counted, label_repr, quoted, row_name

_NUMBERS = (Real, Decimal, np.bool_)

GRADED = ("rating", "rank")
"""Quantities that ordered categories can express: the last is the best rating, or the last rank."""

COUNT_MUST = "A count must be a whole number, 1 or more: how often the ranking was given"
NOT_A_COUNT = "A sampling weight is not a count: give it as `weight`."


def require_columns(frame: pd.DataFrame, columns: Iterable[str], where: str = "The table") -> None:
    """Check that a table has each of these columns once."""
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"Expected {TABLES}; got {type(frame).__name__}.")
    require_names(frame.columns, columns, where)


def require_names(names: pd.Index, columns: Iterable[str], where: str) -> None:
    """Check that a table has each of these column names once; see `require_columns`."""
    for column in columns:
        times = int((names == column).sum())
        if times == 0:
            known = {str(name).casefold().strip(): name for name in reversed(names)}
            alike = get_close_matches(str(column).casefold().strip(), list(known), 1, 0.7)
            meant = f" Did you mean {label_repr(known[alike[0]])}?" if alike else ""
            raise ValueError(
                f"{where} has no column {column!r}; its columns are {quoted(names, 20)}.{meant}"
            )
        if times > 1:
            raise ValueError(f"{where} has {times} columns called {column!r}; rename them.")


def layout(
    given: Mapping[str, str | None], required: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return the names of columns, and those that the table may lack.

    Without any name, the columns are those that `to_frame` writes, which are called as the
    arguments are; those that are not required may be lacking.
    """
    if all(column is None for column in given.values()):
        return {name: name for name in given}, [name for name in given if name not in required]
    missing = [f"{name}=" for name in required if given[name] is None]
    if missing:
        raise ValueError(
            f"Name the columns of the table: {' and '.join(missing)} must be given too. Only a "
            f"table that to_frame() wrote needs no names."
        )
    return dict(given), []


def finite_numbers(frame: pd.DataFrame, column: str, quantity: str) -> NDArray[Any]:
    """Return a column of finite numbers, whole numbers as integers."""
    require_columns(frame, [column])
    array = numbers(frame[column], quantity)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        n = int(np.argmin(np.isfinite(array)))
        fault = "is missing" if np.isnan(array[n]) else f"has {array[n]}"
        raise ValueError(
            f"A {quantity} must be a finite number; column {column!r} {fault} in "
            f"{row_name(frame.index, n)}. Remove rows without a {quantity}."
        )
    return array


def refuse_rows(broken: NDArray[np.bool_], values: pd.Series, must: str, way_out: str = "") -> None:
    """Raise an error if rows of a column are `broken`, and name the first of them."""
    if broken.any():
        n = int(broken.argmax())
        value = values.iloc[n]
        shown = f"{value:g}" if isinstance(value, float | np.floating) else label_repr(value)
        raise ValueError(
            f"{must}; column {values.name!r} has {shown} in {row_name(values.index, n)}. {way_out}"
        )


def amounts(frame: pd.DataFrame, column: str, quantity: str = "count") -> NDArray[np.float64]:
    """Read a column of nonnegative numbers, such as counts."""
    amount = finite_numbers(frame, column, quantity).astype(np.float64)
    way_out = "Correct the row, or remove it."
    refuse_rows(amount < 0, frame[column], f"A {quantity} must not be negative", way_out)
    return amount


def times_given(frame: pd.DataFrame, column: str) -> NDArray[np.float64]:
    """Read a column with the numbers of independent rankings that rows stand for."""
    times = finite_numbers(frame, column, "count").astype(np.float64)
    way_out = f"{NOT_A_COUNT} Remove rows that nobody gave."
    refuse_rows((times < 1) | (times % 1 != 0), frame[column], COUNT_MUST, way_out)
    return times


def check_times(values: NDArray[np.float64], labels: pd.Index) -> NDArray[np.int64]:
    """Check that counts, one per ranking, are whole and positive, and return them as integers."""
    bad = np.flatnonzero(~((values >= 1) & (values < 2**53) & (values == np.round(values))))
    if len(bad):
        raise ValueError(
            f"{COUNT_MUST}; ranking {label_repr(labels[bad[0]])} has {values[bad[0]]:g}. "
            f"{NOT_A_COUNT} Leave out rankings that nobody gave."
        )
    return values.astype(np.int64)


def check_weights(values: NDArray[np.float64], labels: pd.Index, unit: str, way_out: str) -> None:
    """Check that weights, one per `unit` (such as a ranking), are positive and finite."""
    bad = np.flatnonzero(~((values > 0) & np.isfinite(values)))
    if len(bad):
        raise ValueError(
            f"A weight must be positive and finite; {unit} {label_repr(labels[bad[0]])} has "
            f"{values[bad[0]]}. {way_out}"
        )


def numbers(values: pd.Series, quantity: str) -> NDArray[Any]:
    """Return the numbers of a column; missing values become NaN.

    Ordered grades, such as "poor" and "good", have the numbers 1, 2, ... in this order.
    """
    given = values
    if quantity in GRADED and is_graded(values):
        grades: Any = values.array
        places = grades.codes.astype(np.int64) + 1
        return np.where(places == 0, np.nan, places) if (places == 0).any() else places
    if isinstance(values.dtype, pd.CategoricalDtype):
        values = values.astype(object)
    values = values.infer_objects()
    missing = values.isna().to_numpy()
    if pd.api.types.is_numeric_dtype(values.dtype):
        array = values.to_numpy(np.float64, na_value=np.nan) if missing.any() else values.to_numpy()
    else:
        array = values.to_numpy(dtype=object)
    if array.dtype == object and all(isinstance(v, _NUMBERS) for v in array[~missing]):
        array = np.where(missing, np.nan, array).astype(np.float64)
    if array.dtype.kind not in "biuf":
        _refuse(given, missing, quantity)
    return array


def is_graded(values: pd.Series) -> bool:
    """Return whether a column has ordered categories that are not numbers.

    Raise an error if they are numbers, also as text, in another order than the categories.
    """
    if not (isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered):
        return False
    categories = values.dtype.categories
    if not all(map(_reads_as_number, categories)):
        return True
    if (np.diff([float(x) for x in categories]) < 0).any():
        raise ValueError(
            f"The ordered categories of column {values.name!r} are numbers in another order, "
            f"{quoted(categories)}. If the numbers count, use frame[{values.name!r}]"
            f".astype(float). If the order counts, name the categories with words."
        )
    return not all(isinstance(x, _NUMBERS) for x in categories)


_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d*,\d+")
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+")


def text_numbers(
    values: pd.Series, quantity: str, *, decimal: Literal[".", ","] | None = None
) -> tuple[pd.Series, bool]:
    """Read numbers written as text, and return whether they use decimal commas.

    Empty cells become NaN.
    """
    given = values.dropna()
    if not all(isinstance(value, str) for value in given):
        return pd.Series(numbers(values, quantity), values.index, name=values.name), False
    code, distinct = pd.factorize(values)
    texts = [text.strip().replace("\N{MINUS SIGN}", "-") for text in distinct]
    commas = _decimal_commas(values, texts, quantity) if decimal is None else decimal == ","
    if commas:
        texts = [text.replace(",", ".") if _COMMA.fullmatch(text) else text for text in texts]
    wrong = [n for n, text in enumerate(texts) if not _DECIMAL.fullmatch(text)]
    if wrong:
        at = np.isin(code, wrong)
        way_out = (
            "The column has no numbers: name another column, or write its cells as numbers."
            if len(wrong) == len(texts)
            else f"Correct the {counted(int(at.sum()), 'row')} without a number, or remove "
            f"{'it' if at.sum() == 1 else 'them'}."
        )
        refuse_rows(at, values, f"A {quantity} must be a finite number", way_out)
    exact = [_exact(text) for text in texts]
    beyond = [n for n, x in enumerate(exact) if not np.isfinite(float(x)) or (x and not float(x))]
    must = f"The absolute value of a {quantity} must be between 1e-308 and 1e308, or 0"
    refuse_rows(np.isin(code, beyond[:1]), values, must, "Correct it, or remove the row.")
    whole = all(x == x.to_integral_value() and abs(x) < 2**62 for x in exact)
    read = np.array([int(x) if whole else float(x) for x in exact])
    missing = bool((code < 0).any())
    if missing or not whole:  # stored as floats
        seen: dict[float, Decimal] = {}
        for x, number in zip(read.astype(np.float64).tolist(), exact, strict=True):
            if seen.setdefault(x, number) != number:
                raise ValueError(
                    f"Column {values.name!r} has the numbers {label_repr(str(seen[x]))} and "
                    f"{label_repr(str(number))}, which agree in the first 16 digits. A {quantity} "
                    "may have at most 16 digits; round the numbers."
                )
    if missing:
        read = np.append(read.astype(np.float64), np.nan)
    return pd.Series(read[code] if len(read) else np.nan, values.index, name=values.name), commas


def _exact(text: str) -> Decimal:
    """Return the decimal number that a text represents; infinity if it is too large."""
    try:
        return Decimal(text)
    except InvalidOperation:
        return Decimal("Infinity")


def _decimal_commas(values: pd.Series, texts: list[str], quantity: str) -> bool:
    """Return whether texts use decimal commas; raise an error if these may separate thousands."""
    commas = [text for text in texts if _COMMA.fullmatch(text)]
    if any("." in text for text in texts if _DECIMAL.fullmatch(text)) or not commas:
        return False
    if all(_THOUSANDS.fullmatch(text) for text in commas):
        row = int((values == commas[0]).to_numpy().argmax())
        text = commas[0]
        raise ValueError(
            f"A {quantity} must be unambiguous; column {values.name!r} has {text!r} in "
            f"{row_name(values.index, row)}, which may mean {text.replace(',', '')} or "
            f"{text.replace(',', '.')}. Remove the comma, or write a decimal point."
        )
    return True


def float_array(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Copy an array of numbers; messages call the argument `name`."""
    _refuse_labels(values, name)
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"`{name}` must be an array of numbers: {error}.") from error


def whole_numbers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Copy an array of integers; messages call the argument `name`."""
    _refuse_labels(values, name)
    try:
        array = np.asarray(values)
    except ValueError:
        raise ValueError(
            f"`{name}` must be an array of integers with rows of equal length. Pad short rows, "
            f"and write 0 in `ranks` for an empty slot."
        ) from None
    if array.size and array.dtype.kind not in "iu":
        raise ValueError(f"`{name}` must be integers; got {array.dtype}.")
    return array.astype(np.int64)


def _refuse_labels(values: Any, name: str) -> None:
    if has_labels(values):
        type_name = type(values).__name__
        raise ValueError(
            f"`{name}` is a {type_name}, whose labels would be ignored. Sort it into the order of "
            "the axes and pass an array"
            + ("." if type_name == "dict" else f", such as {name}.to_numpy().")
        )


def _refuse(values: pd.Series, missing: NDArray[np.bool_], quantity: str) -> NoReturn:
    """Raise an error for the first value that is not a number.

    Values that cannot be converted come before values that can.
    """
    known = [(n, value) for n, value in enumerate(values) if not missing[n]]
    unreadable = [(n, value) for n, value in known if not _reads_as_number(value)]
    text = [(n, value) for n, value in known if not isinstance(value, _NUMBERS)]
    n, value = (unreadable or text or known)[0]
    if len(unreadable) == len(known):
        way_out = "The column has no numbers: name another column, or convert this one."
        if quantity in GRADED:
            first, last = ("worst", "best") if quantity == "rating" else ("best", "worst")
            way_out = (
                f"The column has no numbers: name another column. If its values are grades, give "
                f"their order, {first} first and {last} last: pandas.Categorical("
                f"frame[{values.name!r}], categories=[...], ordered=True)."
            )
    elif unreadable:
        affected = counted(len(unreadable), "row")
        way_out = f"Correct or remove the {affected} without a number."
    else:
        way_out = "Convert the column with pandas.to_numeric."
    raise ValueError(
        f"A {quantity} must be a finite number; column {values.name!r} has {label_repr(value)} in "
        f"{row_name(values.index, n)}. {way_out}"
    )


def _reads_as_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
