"""Choice entries: best-worst tasks and choices become weak orders, or are refused with the row."""

import pickle

import numpy as np
import pandas as pd
import pytest

from bayesrank.data import Rankings
from tests.data.examples import places

COLUMNS = ("id", "task", "item", "best", "worst")
LONG = places(
    (7, 1, "tea", 1, 0),
    (7, 1, "milk", 0, 0),
    (7, 1, "water", 0, 0),
    (7, 1, "juice", 0, 1),
    (8, 1, "juice", 0, 0),
    (8, 1, "tea", 0, 1),
    (8, 1, "milk", 1, 0),
    columns=COLUMNS,
)
WIDE = pd.DataFrame(
    {
        "id": [7, 8],
        "task": [1, 1],
        "item_1": ["tea", "juice"],
        "item_2": ["milk", "tea"],
        "item_3": ["water", "milk"],
        "item_4": ["juice", None],
        "best": ["tea", "milk"],
        "worst": ["juice", "tea"],
    }
)
TASKS = [["tea", {"milk", "water"}, "juice"], ["milk", "juice", "tea"]]
NAMES = {"respondent": "id", "task": "task", "item": "item", "best": "best", "worst": "worst"}


def long(frame=LONG, **options):
    return Rankings.from_best_worst(frame, **NAMES | options)


def wide(frame=WIDE, **options):
    names = {name: column for name, column in NAMES.items() if name != "item"}
    cells = [f"item_{n}" for n in (1, 2, 3, 4)]
    return Rankings.from_best_worst_wide(frame, **names | {"items_shown": cells} | options)


def changed(frame, row, **cells):
    frame = frame.astype(object).copy()
    for name, value in cells.items():
        frame.loc[row, name] = value
    return frame


# Best-worst tasks


def test_a_task_is_best_above_middle_above_worst():
    tasks = long()
    assert list(tasks) == TASKS
    assert tasks.labels.tolist() == ["7/1", "8/1"]
    assert tasks.rankers.tolist() == [7, 8]
    other = Rankings.from_orderings(TASKS, rest=(), rankers=[7, 8])
    assert tasks == other._with(labels=tasks.labels)


def test_random_tasks_are_the_orderings_that_they_came_from(rng):
    orderings, rows = [], []
    for n in range(30):
        best, *middle, worst = rng.permutation(list("abcdefg"))[: 2 + n % 4].tolist()
        orderings.append([best, set(middle), worst] if middle else [best, worst])
        rows += [(n % 5, n, x, x == best, x == worst) for x in (best, *middle, worst)]
    frame = places(*rows, columns=COLUMNS)
    who = {"rankers": [n % 5 for n in range(30)], "rest": ()}
    expected = Rankings.from_orderings([[*x] for x in orderings], **who)
    assert long(frame) == expected
    mixed = long(frame.sample(frac=1, random_state=1))
    assert {n: mixed[k] for k, n in enumerate(mixed.labels)} == dict(enumerate(expected))


@pytest.mark.parametrize(
    "frame",
    [
        LONG.replace({"best": {1: "x", 0: ""}, "worst": {1: "X", 0: None}}),
        LONG.astype({"best": bool, "worst": bool}),
        LONG.astype({"best": str, "worst": "category"}),
        LONG.replace({"best": {1: "yes", 0: "no"}}).astype({"worst": float}),
    ],
)
def test_flags_may_be_written_in_several_ways(frame):
    assert long(frame) == long()


@pytest.mark.parametrize(
    "codes",
    [
        ["best", "", None, "worst", "", "worst", "best"],
        [1, 0, 0, -1, 0, -1, 1],
        [1.0, np.nan, np.nan, -1.0, np.nan, -1.0, 1.0],
        ["B", "", "", "W", "", "w", "b"],
    ],
)
def test_one_column_of_codes_tells_best_and_worst(codes):
    assert long(LONG.assign(code=codes), best=None, worst=None, codes="code") == long()


def test_a_wide_table_tells_the_same_by_label_and_by_position():
    by_position = WIDE.assign(best=[1, 3], worst=[4, 2])
    assert wide() == long()
    assert wide(by_position, positions=True) == long()
    as_text = by_position.astype({"best": str, "worst": float})
    assert wide(as_text, positions=True) == long()


def test_numbers_are_labels_unless_they_are_called_positions():
    numbers = WIDE.replace({"tea": 1, "milk": 2, "water": 3, "juice": 4})
    assert list(wide(numbers)) == [[1, {2, 3}, 4], [2, 4, 1]]
    assert list(wide(numbers, positions=True)) == [[1, {2, 3}, 4], [1, 2, 4]]


def test_each_row_of_a_wide_table_is_a_task_unless_tasks_have_names():
    tasks = wide(WIDE.assign(id=7), task=None)
    assert list(tasks) == TASKS
    assert tasks.ranker_idx.tolist() == [0, 0]
    with pytest.raises(ValueError, match="one row; column 'task' has 1 in row 1"):
        wide(WIDE.assign(id=7))


def test_tables_in_files_are_read(tmp_path):
    LONG.to_csv(tmp_path / "long.csv", index=False)
    WIDE.to_csv(tmp_path / "wide.csv", index=False)
    assert list(long(tmp_path / "long.csv")) == list(wide(tmp_path / "wide.csv"))


def test_one_of_best_and_worst_is_enough():
    assert list(long(worst=None))[1] == ["milk", {"juice", "tea"}]
    assert list(long(best=None))[1] == [{"juice", "milk"}, "tea"]
    assert list(wide(worst=None))[1] == ["milk", {"juice", "tea"}]
    # in one task only
    assert list(long(changed(LONG, 5, worst=0)))[1] == ["milk", {"juice", "tea"}]
    two = LONG.iloc[[0, 3]]
    assert list(long(two)) == [["tea", "juice"]] == list(long(two, best=None))


def test_several_items_may_be_chosen_on_request():
    frame = changed(LONG, 1, best=1)
    with pytest.raises(
        ValueError, match=r"not have another best item; column 'item' has 'milk' in row 1"
    ):
        long(frame)
    assert next(iter(long(frame, several=True))) == [{"tea", "milk"}, "water", "juice"]
    frame = changed(LONG, 4, worst=1)
    with pytest.raises(
        ValueError, match=r"not have another worst item; column 'item' has 'tea' in row 5"
    ):
        long(frame)


def test_a_task_without_a_choice_is_refused_or_dropped():
    frame = changed(LONG, [4, 5, 6], best=0, worst=0)
    with pytest.raises(ValueError, match=r"but not in 1 task; column 'item' has 'juice' in row 4"):
        long(frame)
    tasks = long(frame, missing="drop")
    assert list(tasks) == TASKS[:1]
    assert tasks.rankers.tolist() == [7]
    with pytest.raises(ValueError, match="'raise' or 'drop'; got 'no'"):
        long(missing="no")
    with pytest.raises(ValueError, match="but not in 2 tasks"):
        long(LONG.assign(best=0, worst=0), missing="drop")


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (changed(LONG, 3, best=1), "worst item must differ; column 'item' has 'juice' in row 3"),
        (LONG.iloc[[0]], "at least two items; column 'item' has 'tea' in row 0"),
        (changed(LONG, 1, item="tea"), "show an item once; column 'item' has 'tea' in row 1"),
        (changed(LONG, 2, best="maybe"), "A flag must be 1 or 0.*'best' has 'maybe' in row 2"),
        (changed(LONG, 2, id=None), "'id' has a missing label in row 2"),
        (changed(WIDE, 1, worst="water"), "must be one of those shown; column 'worst' has 'water'"),
        (changed(WIDE, 1, worst="milk"), "must differ; column 'item shown' has 'milk' in row 1"),
        (WIDE.assign(best=[1, 4]), "'best' has 1 in row 0.*positions=True if the column has pos"),
        (changed(WIDE, 0, item_2="tea"), "an item once; column 'item shown' has 'tea' in row 0"),
        (
            changed(WIDE, 1, item_1=None, item_2=None, worst=None),
            "at least two items; column 'item shown' has 'milk' in row 1",
        ),
    ],
)
def test_invalid_long_and_wide_tables_are_refused(frame, message):
    read = long if "item" in frame else wide
    with pytest.raises(ValueError, match=message):
        read(frame)


def test_a_wide_table_needs_two_columns_of_items_and_an_answer():
    with pytest.raises(ValueError, match="give best=, worst=, or both"):
        wide(best=None, worst=None)
    for cells in ("item_1", ["item_1"]):
        with pytest.raises(
            ValueError, match=r"two or more columns; got .* Rankings.from_best_worst\."
        ):
            wide(items_shown=cells)


@pytest.mark.parametrize("empty", [None, "", 0, "0"])
@pytest.mark.parametrize("codes", [(2, 1), ("2", "1"), (1, 2), ("Most", "Least"), (1, 0), (-1, 1)])
def test_other_codes_are_named(codes, empty):
    best, worst = codes
    if {str(best), str(worst)} & {str(empty)}:
        empty = None
    cells = {"b": best, "w": worst, "": empty}
    frame = LONG.assign(answer=[cells[x] for x in ("b", "", "", "w", "", "w", "b")])
    read = {"best": None, "worst": None, "codes": "answer", "best_code": best, "worst_code": worst}
    for written in (frame, frame.astype({"answer": object})):
        assert long(written, **read) == long()
    text = frame["answer"].map(lambda x: None if x is None or x != x else f" {x} ".upper())
    assert long(frame.assign(answer=text.str.replace(".0", "")), **read) == long()
    with pytest.raises(ValueError, match=r"A code must be .* or empty; .* has 7 in row 1"):
        long(changed(frame, 1, answer=7), **read)


def test_codes_that_are_not_named_are_refused_and_the_remedy_works():
    frame = LONG.assign(answer=[2, 0, 0, 1, 0, 1, 2])
    read = {"best": None, "worst": None, "codes": "answer"}
    message = r"'answer' has 2 in row 0. Name other codes with `best_code` and `worst_code`"
    with pytest.raises(ValueError, match=message):
        long(frame, **read)
    assert long(frame, **read, best_code=2, worst_code=1) == long()
    with pytest.raises(ValueError, match=r"best \('2'\), 0 or empty; .* has 1 in row 3"):
        long(frame, **read, best_code=2)
    best = long(frame.replace({"answer": {1: 0}}), **read, best_code=2)
    assert best == long(worst=None)
    for same in ({"best_code": 2, "worst_code": "2"}, {"best_code": "", "worst_code": 1}):
        with pytest.raises(ValueError, match="must differ and not be empty"):
            long(frame, **read, **same)


def test_weights_groups_and_features_stay_with_the_tasks():
    frame = LONG.assign(times=[2] * 4 + [3] * 3, land=["B"] * 4 + ["A"] * 3, price=range(7))
    raw = {"standardise": False}
    tasks = long(frame, weight="times", by="land", attributes=["price"], **raw)
    assert tasks.weight.tolist() == [2, 3]
    assert tasks.groups["land"].idx.tolist() == [1, 0]
    assert tasks.features[..., 0].tolist() == [[0, 1, 2, 3], [6, 4, 5, 0]]
    frame = WIDE.assign(times=[2, 3], land=["B", "A"], age=[30, 40])
    tasks = wide(frame, weight="times", by=["land"], attributes=["item shown:age"], **raw)
    assert tasks.weight.tolist() == [2, 3]
    assert tasks.groups["land"].idx.tolist() == [1, 0]
    assert tasks.feature_names[1] == "item shown[tea]:age"
    assert tasks.features[..., 1].tolist() == [[30, 0, 0, 0], [0, 0, 40, 0]]
    with pytest.raises(ValueError, match="'age' is missing in row 1"):
        wide(changed(frame, 1, age=None), attributes=["item shown:age"])


# The threshold

ANCHORED = LONG.assign(asked=["all"] * 4 + ["none"] * 3)


def test_the_threshold_is_below_all_or_above_all_or_between():
    tasks = long(ANCHORED, threshold="asked")
    t = "threshold"
    assert list(tasks) == [[*TASKS[0], t], [t, *TASKS[1]]]
    assert tasks.items.tolist() == ["juice", "milk", "tea", "water", t]
    some = long(ANCHORED.assign(asked="some"), threshold="asked")
    assert list(some) == [["tea", {"milk", "water", t}, "juice"], ["milk", {"juice", t}, "tea"]]
    two = long(LONG.iloc[[0, 3]].assign(asked="some"), threshold="asked")
    assert list(two) == [["tea", t, "juice"]]
    not_asked = long(ANCHORED.replace({"asked": {"none": None}}), threshold="asked")
    assert list(not_asked) == [[*TASKS[0], t], TASKS[1]]


def test_a_wide_table_may_ask_about_the_threshold():
    tasks = wide(WIDE.assign(asked=["all", "none"]), threshold="asked")
    assert tasks == long(ANCHORED, threshold="asked")


def test_none_of_these_is_asked_with_the_best_alone():
    frame = LONG.assign(none=[True] * 4 + [False] * 3)
    first, second = long(frame, worst=None, threshold="none")
    assert first == ["threshold", "tea", {"milk", "water", "juice"}]
    assert second == ["milk", {"juice", "tea", "threshold"}]
    with pytest.raises(
        ValueError, match=r"needs a best item and no worst.*column 'item' has 'juice' in row 4"
    ):
        long(frame, threshold="none")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"codes": "best"}, "give codes=, which has codes for both, or best= and worst="),
        ({"best_code": 2}, "codes in the column codes=. Name this column, or leave them out"),
        ({"best": None, "worst": None}, "Name the columns of the answers"),
        ({"item": ["item"]}, "one per row; got .* use Rankings.from_best_worst_wide"),
        ({"best": None, "worst": None, "codes": "c"}, "no column 'c'"),
        ({"item": "thing"}, "no column 'thing'"),
        ({"by": "item"}, "`by` cannot name a column 'item'"),
        ({"frame": ANCHORED.assign(asked="many"), "threshold": "asked"}, "'asked' has 'many' in"),
        (
            {"frame": changed(ANCHORED, 1, asked="none"), "threshold": "asked"},
            "same in all rows of a task; .*in row 1",
        ),
        (
            {"frame": ANCHORED.assign(asked="some"), "threshold": "asked", "worst": None},
            "'some' needs a best item.*in row 0",
        ),
        (
            {"frame": ANCHORED.replace({"item": {"tea": "threshold"}}), "threshold": "asked"},
            "has the label 'threshold', which no item shown may have.*in row 0",
        ),
    ],
)
def test_options_and_thresholds_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        long(**options)


def test_the_threshold_has_a_place_on_the_axis_and_a_feature():
    axis = ["threshold", "water", "tea", "milk", "juice"]
    priced = ANCHORED.assign(price=range(1, 8))
    options = {"threshold": "asked", "items": axis, "standardise": False}
    tasks = long(priced, attributes=["price"], **options)
    assert tasks.items.tolist() == axis
    assert tasks.feature_names.tolist() == ["price", "threshold"]
    assert tasks.features[1].tolist() == [[0, 1], [7, 0], [5, 0], [6, 0], [0, 0]]
    by_item = pd.DataFrame({"x": [2.0, 3, 4, 5]}, index=axis[1:])
    tasks = long(ANCHORED, attributes=by_item, **options)
    assert tasks.features[1].tolist() == [[0, 1], [4, 0], [5, 0], [3, 0], [0, 0]]


# Choices

CHOICES = places(
    (1, 1, "bus", 2.0, 1, 20),
    (1, 1, "car", 5.0, 0, 20),
    (1, 2, "bus", 3.0, 0, 20),
    (1, 2, "car", 4.0, 1, 20),
    (1, 2, "bike", 0.0, 0, 20),
    (2, 1, "bike", 0.5, 1, 50),
    (2, 1, "car", 6.0, 0, 50),
    columns=("id", "set", "mode", "cost", "chosen", "age"),
)
WIDE_CHOICES = pd.DataFrame(
    {
        "id": [1, 1, 2],
        "set": [1, 2, 1],
        "mode": ["bus", "car", "bike"],
        "bus_cost": [2.0, 3.0, 0.0],
        "car_cost": [5.0, 4.0, 6.0],
        "bike_cost": [0.0, 0.0, 0.5],
        "bus_open": [1, 1, 0],
        "car_open": [1, 1, 1],
        "bike_open": [0, 1, 1],
        "age": [20, 20, 50],
    }
)
MADE = [["bus", "car"], ["car", {"bus", "bike"}], ["bike", "car"]]
MODES = ["bus", "car", "bike"]


def choices(frame=CHOICES, **options):
    given = {"respondent": "id", "task": "set", "alternative": "mode", "chosen": "chosen"}
    return Rankings.from_choices(frame, **given | options)


def wide_choices(frame=WIDE_CHOICES, **options):
    given = {"respondent": "id", "task": "set", "chosen": "mode", "alternatives": MODES}
    given |= {"varying": ["cost", "open"], "available": "open"}
    return Rankings.from_choices_wide(frame, **given | options)


def test_a_choice_is_above_the_others():
    made = choices(attributes=["cost"], standardise=False)
    assert list(made) == MADE
    assert made.ranker_idx.tolist() == [0, 0, 1]
    assert made.features[1, :, 0].tolist() == [4.0, 0.0, 3.0]  # a block follows the item axis
    alone = choices(CHOICES.assign(set=[1, 1, 2, 2, 2, 3, 3]), respondent=None)
    assert alone.rankers.tolist() == [1, 2, 3]


def test_a_wide_table_of_choices_tells_the_same():
    coded = {"attributes": ["cost"]}
    made = wide_choices(**coded)
    long = choices(items=MODES, **coded)
    assert made == long
    by_position = WIDE_CHOICES.assign(mode=[1, 2, 3])
    assert wide_choices(by_position, positions=True, **coded) == long
    names = {f"{mode}_{x}": f"{x}.{mode}" for mode in MODES for x in ("cost", "open")}
    renamed = WIDE_CHOICES.rename(columns=names)
    assert wide_choices(renamed, naming="{attribute}.{alternative}", **coded) == long
    anonymous = wide_choices(respondent=None, task=None)
    assert list(anonymous) == MADE
    assert anonymous.rankers.tolist() == [0, 1, 2]


def test_alternatives_may_be_ranked():
    ranked = CHOICES.assign(rank=[1, 2, 2, 1, 3, 1, 2])
    made = choices(ranked, chosen=None, rank="rank", available=None)
    assert list(made) == [["bus", "car"], ["car", "bus", "bike"], ["bike", "car"]]
    ranks = {"bus_rank": [1, 2, 3], "car_rank": [2, 1, 2], "bike_rank": [3, 3, 1]}
    options = {"chosen": None, "rank": "rank", "varying": ["rank", "cost", "open"]}
    assert list(wide_choices(WIDE_CHOICES.assign(**ranks), **options)) == list(made)


def test_weights_and_groups_of_choices_are_read():
    made = wide_choices(WIDE_CHOICES.assign(w=[1, 2, 3]), weight="w", by="age")
    assert made.weight.tolist() == [1, 2, 3]
    assert made.groups["age"].labels.tolist() == [20, 50]


def test_a_choice_without_a_choice_is_refused_or_dropped():
    with pytest.raises(ValueError, match=r"not in 1 task; .*in row 5"):
        choices(changed(CHOICES, 5, chosen=0))
    assert list(choices(changed(CHOICES, 5, chosen=0), missing="drop")) == MADE[:2]
    with pytest.raises(ValueError, match=r"not in 1 task; .*in row 1"):
        wide_choices(changed(WIDE_CHOICES, 1, mode=None))


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda: choices(changed(CHOICES, 0, chosen=0).assign(rank=1), rank="rank"), "Give either"),
        (lambda: choices(chosen=None), "Give either chosen="),
        (lambda: choices(task=None, respondent=None), "identifies choices, task=.*_choices_wide"),
        (lambda: choices(changed(CHOICES, 1, chosen=1)), "another best item; .*from_best_worst"),
        (
            lambda: choices(changed(CHOICES, 1, mode="bus")),
            "an item once; column 'mode' has 'bus' in row 1",
        ),
        (
            lambda: choices(chosen="mode"),
            "'mode' has 'bus' in row 0.*wide: use .*from_choices_wide",
        ),
        (
            lambda: choices(CHOICES.assign(open=[0, 1, 1, 1, 1, 1, 1]), available="open"),
            "must be available; column 'mode' has 'bus' in row 0",
        ),
        (
            lambda: wide_choices(changed(WIDE_CHOICES, 1, car_open=0)),
            "must be available; column 'alternative' has 'car' in row 1",
        ),
        (lambda: wide_choices(changed(WIDE_CHOICES, 1, mode="boat")), "'mode' has 'boat' in row 1"),
        (lambda: wide_choices(WIDE_CHOICES.drop(columns="car_cost")), "no column 'car_cost'"),
        (lambda: wide_choices(alternatives=["bus"]), "two or more `alternatives`; got 1"),
        (lambda: wide_choices(alternative="age"), "must not have a column 'age'"),
        (lambda: wide_choices(task="id"), "one row; column 'id' has 1 in row 1"),
        (lambda: wide_choices("a.csv"), "the table must be in memory, .* got str. Read the file"),
        (
            lambda: choices("a.csv", attributes=["cost"]),
            "With attributes, or one row per choice, the table must be in memory",
        ),
        (lambda: choices(available="open"), "no column 'open'"),
    ],
)
def test_invalid_choices_are_refused(made, message):
    with pytest.raises((ValueError, TypeError), match=message):
        made()


# Attributes

BRANDS = places(
    (1, 1, "p", "A", 1.0, True, 1),
    (1, 1, "q", "B", 2.0, False, 0),
    (1, 1, "r", "C", 6.0, False, 0),
    (1, 2, "p", "B", 3.0, False, 0),
    (1, 2, "q", "C", 3.0, True, 1),
    columns=("id", "set", "mode", "brand", "price", "new", "chosen"),
)


def test_levels_are_relative_to_the_first_or_sum_to_zero():
    made = choices(BRANDS, attributes=["brand"])
    assert made.feature_names.tolist() == ["brand[B]", "brand[C]"]
    assert made.features.tolist() == [[[0, 0], [1, 0], [0, 1]], [[0, 1], [1, 0], [0, 0]]]
    made = choices(BRANDS, attributes=["brand"], coding="sum")
    assert made.feature_names.tolist() == ["brand[A]", "brand[B]"]
    assert made.features[0].tolist() == [[1, 0], [0, 1], [-1, -1]]
    assert "'C' is minus the sum of the others" in str(made.attributes)
    ordered = BRANDS.assign(brand=pd.Categorical(BRANDS["brand"], list("CXAB")))
    assert choices(ordered, attributes=["brand"]).attributes.levels == {"brand": ("C", "A", "B")}


def test_numbers_are_standardised_or_raw():
    made = choices(BRANDS, attributes=["price", "new"])
    price = made.features[..., 0][made.mask]
    assert price.mean() == pytest.approx(0)
    assert price.std() == pytest.approx(1)
    assert made.features[0, :, 1].tolist() == [1, 0, 0]
    assert str(made.attributes) == ("price: standardised, mean 3 and sd 1.673\nnew: raw units")
    raw = choices(BRANDS, attributes=["price"], standardise=False)
    assert raw.features[0, :, 0].tolist() == [1, 2, 6]


def test_products_of_columns_are_features():
    made = choices(BRANDS, attributes=["brand:price", "mode:brand"], standardise=False)
    assert made.feature_names.tolist() == [
        "brand[B]:price",
        "brand[C]:price",
        *(f"mode[{m}]:brand[{b}]" for m in "qr" for b in "BC"),
    ]
    assert made.features[0].tolist() == [[0] * 6, [2, 0, 1, 0, 0, 0], [0, 6, 0, 0, 0, 1]]
    named = BRANDS.rename(columns={"price": "a:b"})
    assert choices(named, attributes=["a:b"]).feature_names.tolist() == ["a:b"]


def test_new_profiles_are_coded_in_the_same_way():
    made = choices(BRANDS, attributes=["brand", "price", "brand:price"], coding="sum")
    again = made.attributes.code(BRANDS)
    row, slot = np.nonzero(made.mask)
    order = [0, 1, 2, 4, 3]  # slots are sorted best first
    np.testing.assert_allclose(again.to_numpy()[order], made.features[row, slot])
    with pytest.raises(ValueError, match="Unknown level 'D': the levels are 'A', 'B', 'C'"):
        made.attributes.code(pd.DataFrame({"brand": ["D"], "price": [1.0]}))
    with pytest.raises(ValueError, match="table of profiles has no column 'price'"):
        made.attributes.code(pd.DataFrame({"brand": ["A"]}))


def test_attributes_stay_with_the_rankings():
    made = choices(BRANDS, attributes=["brand"])
    assert made[:1].attributes == made.attributes
    assert made.drop_items(["r"]).attributes == made.attributes
    assert pickle.loads(pickle.dumps(made)) == made
    assert made != choices(BRANDS, attributes=["brand"], coding="sum")


def test_best_worst_tasks_may_have_attributes_by_row_or_by_item():
    frame = LONG.assign(price=range(7), kind=list("ababaab"))
    tasks = long(frame, attributes=["price", "kind"], standardise=False)
    assert tasks.feature_names.tolist() == ["price", "kind[b]"]
    table = pd.DataFrame({"hot": [1, 0, 0, 0]}, index=["tea", "milk", "water", "juice"])
    tasks = wide(attributes=table, standardise=False)
    assert tasks.features[0, :, 0].tolist() == [1, 0, 0, 0]
    anchored = long(
        ANCHORED.assign(price=range(7)), threshold="asked", attributes=["price"], standardise=False
    )
    assert anchored.feature_names.tolist() == ["price", "threshold"]
    assert anchored.features[1, 0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="Unknown item 'milk'"):
        wide(attributes=table.drop("milk"))
    with pytest.raises(ValueError, match="must be distinct, but 'tea' occurs twice"):
        wide(attributes=pd.concat([table, table.loc[["tea"]]]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attributes": "price"}, "must be a list of columns; got 'price'"),
        ({"attributes": []}, r"must be a list of columns; got \[\]"),
        ({"attributes": ["price"], "coding": "dummy"}, "'reference' or 'sum'; got 'dummy'"),
        ({"attributes": ["size"]}, "no column 'size'"),
        ({"frame": BRANDS.assign(price=1), "attributes": ["price"]}, "'price' has only 1"),
        ({"frame": BRANDS.assign(brand="A"), "attributes": ["brand"]}, "'brand' has only 'A'"),
        ({"frame": changed(BRANDS, 2, brand=None), "attributes": ["brand"]}, "label in row 2"),
        (
            {"frame": BRANDS.assign(**{"brand[B]": range(5)}), "attributes": ["brand", "brand[B]"]},
            r"Two attributes have a feature 'brand\[B\]'",
        ),
        ({"frame": changed(BRANDS, 2, price=None), "attributes": ["price"]}, "is missing in row 2"),
        (
            {"frame": BRANDS.assign(age=[30] * 3 + [40] * 2), "attributes": ["age"]},
            "'age' is the same for all items of every task.*a coefficient: 'mode:age'",
        ),
    ],
)
def test_attributes_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        choices(**{"frame": BRANDS} | options)
