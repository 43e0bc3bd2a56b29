"""The verdict, the table in text, and the page: one file, valid, escaped, honest."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure
from rich.cells import cell_len

from bayesrank.data import Pairs
from bayesrank.reporting.page.files import figure_svg
from bayesrank.reporting.page.pair_results import pair_results
from bayesrank.reporting.page.report import (
    Section,
    answer,
    page_variant,
    report_html,
    table_text,
    verdict,
)
from bayesrank.results import pair_wins, rank_summary

VOID = {"meta", "img", "br", "hr", "link", "input"}


class Page(HTMLParser):
    """Reads a page strictly: every element is closed, in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.cells, self.texts = [], [], [], {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def attributes(self, name):
        return [attrs[name] for _, attrs in self.elements if name in attrs]


def summary(draws=((2.0, 1.0, 0.0), (3.0, 1.0, 0.0), (0.0, 1.0, -1.0), (2.0, 1.0, 0.0)), **more):
    names = more.pop("names", ["ale", "bock", "cider"])
    u = xr.DataArray([draws], dims=("chain", "draw", "item"), coords={"item": names})
    return rank_summary(u, **more)


SVG = figure_svg(Figure(figsize=(1, 1)))
PICTURE = Section("Places", picture=SVG, alt="Where they are")


def page(table=None, **more):
    table = summary() if table is None else table
    return report_html("Beers", table, **({"paragraphs": ["Four draws."]} | more))


# The page


def test_a_browser_loads_nothing_and_runs_the_script_of_the_page_alone():
    found = Page(page())
    (policy,) = [
        attrs["content"]
        for tag, attrs in found.elements
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    # it stands before all that it is about
    tags = [tag for tag, attrs in found.elements if "http-equiv" in attrs or tag == "style"]
    assert tags == ["meta", "style"]
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed.pop("img-src") == "data:"
    for tag in ("style", "script"):
        text = found.texts[tag][-1]  # the first script is data
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert allowed.pop(f"{tag}-src") == f"'sha256-{digest}'"
    assert allowed == dict.fromkeys(("default-src", "base-uri", "form-action"), "'none'")
    assert found.attributes("style") == []


def test_the_page_is_valid_html_with_title_picture_and_table():
    found = Page(page(sections=[PICTURE]))
    assert found.texts["title"] == found.texts["h1"] == ["Beers"]
    tags = [tag for tag, _ in found.elements]
    assert (tags.count("img"), tags.count("table"), tags.count("tr")) == (1, 1, 4)
    assert found.texts["h2"] == ["How to read this", "Places", "How this was made"]
    assert found.texts["th"] == [
        "Item", "Mean rank", "From", "To", "P(best)", "P(top 3)", "Status", "Utility",
        "ale", "bock", "cider",
    ]  # fmt: skip
    # utility minus the mean, in thirds, of ale: 3 5 0 3; of bock: 0 -1 3 0; of cider: -3 -4 -3 -3
    assert found.texts["td"] == [
        *["1.2", "1", "2", "0.75", "1.00", "leads", "0.92 ± 0.69"],
        *["1.8", "1", "2", "0.25", "1.00", "tied", "0.17 ± 0.58"],
        *["3.0", "3", "3", "0.00", "1.00", "behind", "-1.08 ± 0.17"],
    ]


def test_the_page_asks_nothing_of_the_network():
    text = page(sections=[PICTURE])
    found = Page(text)
    assert [src[:26] for src in found.attributes("src")] == ["data:image/svg+xml;base64,"]
    assert found.attributes("href") == []
    assert found.attributes("id") == ["s0", "s1", "s2", "results"]
    assert not {"link", "iframe"} & {tag for tag, _ in found.elements}
    data = {"type": "application/json", "id": "results"}
    assert [attrs for tag, attrs in found.elements if tag == "script"] == [data, {}]
    assert not any(word in text for word in ("fetch(", "XMLHttp", "import(", "eval("))
    assert "http" not in text.replace(found.attributes("src")[0], "").replace("http-equiv", "")
    assert "url(" not in text
    assert "@import" not in text


def test_the_pictures_of_sections_are_the_ones_given():
    found = Page(page(sections=[PICTURE]))
    (source,) = found.attributes("src")
    assert base64.b64decode(source.split(",")[1]) == SVG
    assert found.attributes("alt") == ["Where they are"]


def test_the_picture_of_the_leaders_has_bars_and_intervals_of_the_highest_ten():
    found = Page(page())
    rows = [attrs for tag, attrs in found.elements if tag == "li" and "title" in attrs]
    assert [row["title"] for row in rows] == [
        "ale: best with probability 0.750, mean rank 1.25, rank 1 to 2",
        "bock: best with probability 0.250, mean rank 1.75, rank 1 to 2",
        "cider: best with probability 0.000, mean rank 3.00, rank 3 to 3",
    ]
    assert [row.get("class") for row in rows] == ["leads", "tied", "behind"]
    bars = [attrs["width"] for tag, attrs in found.elements if tag == "rect"]
    assert bars == ["75.0%", "25.0%", "0.0%"]
    lines = [(a["x1"], a["x2"]) for tag, a in found.elements if tag == "line" and "x1" in a]
    assert lines == [("0.0%", "50.0%"), ("0.0%", "50.0%"), ("100.0%", "100.0%")]


def test_of_many_items_the_first_twenty_are_shown_and_all_fold():
    draws = np.random.default_rng(0).normal(np.linspace(4, 0, 30), 1, size=(50, 30))
    text = page(summary(draws, names=[f"n{k}" for k in range(30)]))
    found = Page(text)
    assert sum(tag == "tr" for tag, _ in found.elements) == 1 + 20 + 1 + 30
    assert len([a for tag, a in found.elements if tag == "li" and "title" in a]) == 10
    assert "<summary>All 30 items</summary>" in text
    assert "of the 10 items with the highest; 20 others are not shown" in text


def test_the_bars_are_the_ten_highest_probabilities_of_being_best():
    # n0 is always second; n11 is the best in two of five draws and otherwise the last
    draws = np.tile(np.linspace(4, 0, 12), (5, 1))
    draws[:2, 11] = 9
    draws[2:, 11] = -9
    draws[2:, 4] = 8
    table = summary(draws, names=[f"n{k}" for k in range(12)])
    assert list(table.index).index("n11") > 4
    bars = [a["title"].split(":")[0] for t, a in Page(page(table)).elements if "title" in a]
    assert bars[:2] == ["n4", "n11"]
    assert len(bars) == 10


def test_a_section_folds_all_rows_but_the_first():
    table = pd.DataFrame({"Adherence": [f"{k}" for k in range(30)]}).rename_axis("Judge")
    text = page(sections=[Section("Judges", table=table, first=12)])
    assert sum(tag == "tr" for tag, _ in Page(text).elements) == 4 + 1 + 12 + 1 + 30
    assert "<summary>All 30 rows</summary>" in text
    shown = Section("Judges", table=table, first=12).text().splitlines()
    assert (len(shown), shown[-1]) == (1 + 1 + 12 + 1, "... and 18 more")
    assert "<summary>All" not in page(sections=[Section("Judges", table=table)])


def test_a_narrow_page_omits_the_less_important_columns():
    table = summary().assign(matches=3, elo=1000.0, lower=0.5)
    heads = {
        text: attrs.get("class", "")
        for text, (_, attrs) in zip(
            Page(page(table)).texts["th"],
            [e for e in Page(page(table)).elements if e[0] == "th"],
            strict=True,
        )
    }
    narrow = {text for text, name in heads.items() if "minor" in name}
    assert narrow == {"Mean rank", "P(top 3)", "Matches", "Utility"}
    cells = [attrs.get("class", "") for tag, attrs in Page(page(table)).elements if tag == "td"]
    assert sum("minor" in name for name in cells) == 3 * 4


def test_another_choice_has_the_sentence_the_picture_and_the_table_of_its_own_fit():
    draws = ((2.0, 3.0, 0.0), (1.0, 2.0, 0.0), (0.0, 1.0, -1.0), (2.0, 1.0, 0.0))
    table = summary(draws, top=2)
    found = page_variant("prior scale halved", table)
    assert json.loads(json.dumps(found)) == found
    assert found["label"] == "prior scale halved"
    assert found["answer"] == answer(table)
    bars = [attrs["width"] for tag, attrs in Page(page(table)).elements if tag == "rect"]
    assert [f"{row['width']}%" for row in found["leaders"]["rows"]] == bars
    text = Page(page(table))
    heads = text.texts["th"][: len(found["ranks"])]
    assert {*heads} == {*found["ranks"]}
    cells = iter(text.texts["td"])
    for k, item in enumerate(table.index):
        assert found["ranks"]["Item"][k] == item
        values = [found["ranks"][head][k] for head in heads[1:]]
        assert [next(cells) for value in values if value] == [value for value in values if value]
    with pytest.raises(ValueError, match="has the groups"):
        page_variant("another", grouped())


def test_the_results_are_in_the_page_and_cannot_end_their_element():
    results = {"result": {"title": "</script><b>&\u202e"}}
    text = page(results=results)
    (found,) = re.findall('id="results">(.*)</script>', text)
    assert json.loads(found) == results
    assert not set("<&\u202e") & set(found)


def test_pairs_of_items_are_compared_along_the_upper_triangle():
    u = xr.DataArray(
        [[[2.0, 1.0, 0.0], [3.0, 1.0, 1.0], [0.0, 1.0, -1.0]]],
        dims=("chain", "draw", "item"), coords={"item": ["a", "b", "c"]},
    )  # fmt: skip
    pairs = Pairs.from_matrix([[0, 3, 0], [1, 0, 0], [0, 2, 0]], items=["a", "b", "c"])
    found = pair_results(u, ["b", "a", "c"], pair_wins(pairs))
    # b, a: a is better in 2 of 3 draws; b, c: 1 > 0, 1 = 1, 1 > -1; a, c: always
    assert found["better"] == [333, 833, 1000]
    # the mean of all items is 1, 5/3 and 0 in the draws, so 0.889
    assert found["mean"] == [0.111, 0.778, -0.889]
    assert found["sd"] == [1.53, 1.0, 0.58]
    assert found["met"] == {0: [1.0, 3.0, 0.0], 1: [0.0, 2.0, 0.0]}
    assert pair_results(u, ["a", "b"])["met"] is None


def test_the_script_is_small():
    script = Page(page()).texts["script"][-1]
    assert len(script.encode()) < 15_000


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_contrast_with_what_is_behind_them_as_wcag_asks(scheme):
    style = Page(page()).texts["style"][0]
    colours = dict(re.findall(r"--(\w+): #(\w+)", re.findall(r":root \{([^}]*)\}", style)[scheme]))

    def luminance(name):
        digits = colours[name] if len(colours[name]) == 6 else 2 * colours[name]  # of grey
        rgb = np.array([int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)])
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722] + 0.05

    pairs = [(text, behind) for text in ("ink", "soft", "accent") for behind in ("paper", "tint")]
    for one, other in [*pairs, ("paper", "accent")]:
        light, dark = sorted(map(luminance, (one, other)), reverse=True)
        assert light / dark > 4.5


def test_the_command_stands_at_the_top():
    text = page(command="bayesrank rank 'a <b>.csv'")
    assert text.index("<code>bayesrank rank &#39;a &lt;b&gt;.csv&#39;</code>") < text.index("<h1>")


def test_the_calls_of_python_fold_below_the_command():
    code = "import bayesrank as br\nbr.rank('a <b>.csv')"
    text = page(command="bayesrank rank x", code=code)
    assert (
        "<pre><code>import bayesrank as br\nbr.rank(&#39;a &lt;b&gt;.csv&#39;)</code></pre>" in text
    )
    assert text.index("bayesrank rank x") < text.index("The same in Python") < text.index("<h1>")
    assert "The same in Python" not in page(command="bayesrank rank x")


def test_the_page_fits_narrow_screens():
    text = page()
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in [
        attrs for _, attrs in Page(text).elements
    ]
    found = Page(page(sections=[PICTURE]))
    assert found.attributes("class").count("wide") == 2  # picture and table scroll inside


def named(text):
    """Give a page where every text that can be chosen is this one."""
    table = summary(names=[text, "bock", "cider"])
    return Page(report_html(text, table, paragraphs=[text], warnings=[text]))


@pytest.mark.parametrize("nasty", ["<b>&", '"><script>alert(1)</script>', "{top}", "a&amp;b", "'"])
def test_every_text_is_escaped(nasty):
    found = named(nasty)
    plain = named("plain").elements
    assert [(tag, set(attrs)) for tag, attrs in found.elements] == [
        (tag, set(attrs)) for tag, attrs in plain
    ]
    assert nasty in next(iter(found.attributes("title")))
    assert found.texts["title"] == found.texts["h1"] == [nasty]
    assert found.texts["th"][8] == nasty
    assert found.texts["p"][0].startswith(f"{nasty} leads, and")
    assert found.texts["p"].count(nasty) == 2


def test_warnings_are_set_apart_from_paragraphs():
    found = Page(page(warnings=["Beware."]))
    assert found.attributes("class").count("line warn") == 1
    assert {"Beware.", "Four draws."} < set(found.texts["p"])
    assert "line warn" not in Page(page()).attributes("class")
    long = page(warnings=["Beware of it. There is more."])
    assert "<summary>Beware of it.</summary><p>There is more.</p></details>" in long


def test_failed_checks_come_first():
    text = page(failures=["It fails."], warnings=["Beware."])
    assert Page(text).attributes("class").count("line warn misfit") == 1
    assert text.index("leads, and") < text.index("It fails.") < text.index("Beware.")
    assert text.index("Beware.") < text.index(">How to read this</h2>") < text.index("Four draws.")


def test_the_page_says_whether_the_model_fits_and_what_to_know_of_the_data():
    text = page(fit="It fits.", notes=["One row was left out."], made="today", file="ranks.csv")
    found = Page(text)
    assert found.texts["h2"][1] == "Notes on the data"
    assert text.index("leads, and") < text.index("It fits.") < text.index("One row was left out.")
    assert '<p class="made">today</p>' in text
    assert '<a href="ranks.csv">ranks.csv</a>' in text
    assert "Whether the model fits" in text
    assert "It fits." not in page(fit="It fits.", failures=["It fails."])
    assert "Whether the model fits" not in page()


def test_the_stated_probabilities_are_those_of_the_table():
    text = page(summary(top=2))
    joint = "The leader is better than all items that are <b>behind</b>, jointly, with probability"
    assert f"{joint}\n0.95 or more" in text
    assert joint not in page(summary(names=["ale", "bock"], draws=[[1.0, 0.0], [0.0, 1.0]]))
    assert "<b>P(top 2)</b>" in text
    assert Page(text).attributes("class").count("tied") == 2  # bock, in picture and table
    assert "with probability 0.5. " in page(interval=0.5)


def test_one_draw_has_no_spread():
    assert "nan" not in page(summary([[2.0, 1.0, 0.0]]))
    assert "1.00" in Page(page(summary([[2.0, 1.0, 0.0]]))).texts["td"]


def grouped():
    both = xr.DataArray(
        np.zeros((2, 1, 3, 2)), dims=("year", "chain", "draw", "item"), coords={"year": [1, 2]}
    )
    return rank_summary(both)


@pytest.mark.parametrize("function", [page, table_text, verdict])
def test_a_summary_of_groups_raises(function):
    with pytest.raises(ValueError, match=r"^`summary` has the groups \['year'\]\. Select one"):
        function(grouped())


# The table in text


def test_the_table_has_a_line_for_each_item_and_counts_the_others():
    names = ["a name of\nmore than one line", "x" * 50, *map(str, range(19))]
    draws = [np.linspace(2.0, 0.0, 21), [1.9, 2.0, *np.linspace(1.8, 0.0, 19)]]
    first, second, third, *others, last = table_text(summary(draws, names=names)).splitlines()
    assert len(others) == 18
    assert [first, second, third, last] == [
        "item                                      mean rank     ranks  P(best)  P(top 3)  status",
        "a name of more than one line                    1.5       1-2     0.50      1.00  leads",
        f"{'x' * 39}…        1.5       1-2     0.50      1.00  tied",
        "... and 1 more",
    ]


LONG = ["Cristiano Ronaldo dos Santos Aveiro", "Edson Arantes do Nascimento", "Ronaldinho"]


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("names", [LONG, ["ale", "bock", "cider"], ["酒" * 18, "麦酒", "水"]])
def test_a_narrow_terminal_omits_columns_and_keeps_names(width, names):
    table = summary(names=names).assign(matches=1200, elo=1000.4)
    whole = table_text(table)
    assert whole == table_text(table, 200)
    text = table_text(table, width)
    head, *rows = text.splitlines()
    assert all(cell_len(line) <= width for line in text.splitlines()[:4])
    kept = [name for name in ("P(best)", "status", "ranks", "P(top 3)") if name in head]
    assert "P(best)" in kept
    if width >= 60:  # no name is cut
        assert {"P(best)", "status"} <= {*kept}
        assert all(row.startswith(name) for row, name in zip(rows, names, strict=False))
    if rows[-1].startswith("Not shown: "):
        left_out = rows[-1].removeprefix("Not shown: ").split(", ")
        assert not any(f"  {name}" in head for name in left_out)
        assert all(f" {name}" in whole.splitlines()[0] for name in left_out)
    else:
        assert text == whole


def test_a_very_narrow_terminal_shortens_names_last():
    *rows, left_out = table_text(summary(names=LONG), 30).splitlines()
    assert rows == [
        "item                   P(best)",
        "Cristiano Ronaldo do…     0.75",
        "Edson Arantes do Nas…     0.25",
        "Ronaldinho                0.00",
    ]
    assert left_out == "Not shown: P(top 3), mean rank, ranks, status"


def test_the_table_of_a_section_omits_columns_on_the_right():
    table = pd.DataFrame({"Wins": ["1"], "In words": ["a sentence of many words"]}, index=["ann"])
    section = Section("Judges", ["Text."], table=table)
    assert section.text(200) == section.text()
    assert section.text(30).splitlines() == [
        "Judges",
        "     Wins",
        "ann     1",
        "Not shown: In words",
        "Text.",
    ]


@pytest.mark.parametrize(
    ("name", "values", "shown"),
    [
        ("matches", [1200, 7, 3], ["1,200", "7", "3"]),
        ("elo", [1200.4, 999.6, 800], ["1200", "1000", "800"]),
    ],
)
def test_counts_and_ratings_are_shown_where_the_summary_has_them(name, values, shown):
    table = summary().assign(**{name: values})
    head, *rows = table_text(table).splitlines()
    assert head.split()[-2:] == [name, "status"]
    assert [row.split()[5] for row in rows] == shown
    assert Page(page(table)).texts["th"][6:8] == [name.title(), "Status"]


def test_sentences_in_a_table_wrap_and_numbers_do_not():
    table = pd.DataFrame({"n": ["1"], "says": ["a sentence " * 6]}, index=pd.Index(["x"], name="p"))
    text = page(sections=[Section("Probes", table=table)])
    assert '<td class="prose">a sentence a' in text
    assert '<th scope="col" class="prose">says</th>' in text
    assert "<td>1</td>" in text


def test_a_table_with_lower_ends_is_sorted_by_them_and_says_so():
    table = summary()
    assert "mean rank</b>; the items are sorted by it." in page(table)
    low = table.assign(lower=[-0.5, 0.25, -2.0])
    text = table_text(low)
    assert text.splitlines()[0].split() == [
        "item",
        "mean",
        "rank",
        "ranks",
        "P(best)",
        "P(top",
        "3)",
        "lower",
        "status",
    ]
    assert [line.split()[0] for line in text.splitlines()[1:]] == ["bock", "ale", "cider"]
    assert "  0.25" in text.splitlines()[1]
    found = page(low)
    assert "by which items are sorted" not in found
    assert found.index(">bock</th>") < found.index(">ale</th>")
    assert verdict(low) == verdict(table)  # by mean rank
    assert "  1,250" not in table_text(low.assign(elo=1000.0, lower=1250.0))
    assert "  1250" in table_text(low.assign(elo=1000.0, lower=1250.0))


def test_tied_and_unclear_are_two_words():
    table = summary(names=["ale", "bock", "cider"]).assign(known=[0.9, 0.8, 0.1])
    table.loc["cider", "status"] = "unclear"
    headline = verdict(table)
    assert " One other item is tied with it and may be better: bock." in headline
    assert " One other item may be better, because there are too few data: cider." in headline
    text = page(table)
    assert [Page(text).attributes("class").count(w) for w in ("tied", "unclear")] == [2, 2]
    assert "narrowed their variance by less than half" in text
    assert "is better than" not in headline  # no item is behind
    assert "There are few data about the leader" in verdict(table.assign(known=0.2))


@pytest.mark.parametrize("nasty", ["a\x1b[31mb", "a\rb", "a\u202eb", "a\x00b"])
def test_names_cannot_steer_the_terminal(nasty):
    table = summary(names=[nasty, "bock", "cider"])
    for text in (table_text(table), verdict(table), page(table)):
        assert nasty not in text
        assert all(char == "\n" or char.isprintable() or char == "\ufffd" for char in text)


# The verdict


def test_the_answer_is_one_sentence():
    assert answer(summary()) == (
        "ale leads, and is the best with probability 0.75, but bock may be better."
    )
    assert answer(summary([[2.0, 1.0, 0.0]] * 3)) == (
        "ale leads, and is the best with probability more than 0.99."
    )
    draws = np.random.default_rng(0).normal(size=(100, 5))
    _, two, three, four, five = summary(draws, names=list("abcde")).index
    assert answer(summary(draws, names=list("abcde"))).endswith(" but 4 other items may be better.")
    assert answer(summary(draws, names=list("abcde"))).startswith("No clear leader: ")
    some = summary(draws, names=list("abcde")).drop(index=five)
    assert answer(some).endswith(f" but {two}, {three} and {four} may be better.")


def test_the_verdict_names_the_leader_and_who_is_tied():
    assert verdict(summary()) == (
        "ale leads: mean rank 1.2, best with probability 0.75. One other item is tied with it and "
        "may be better: bock. ale is better than the remaining item with probability 0.95 or more."
    )


def test_the_verdict_names_some_of_many():
    draws = np.random.default_rng(0).normal(size=(100, 9))
    table = summary(draws, names=list("abcdefghi"))
    names = table.index.tolist()
    assert (
        f" 8 other items are tied with it and may be better: {', '.join(names[1:6])} and 3 more."
        in verdict(table)
    )
    assert " more." not in verdict(summary(draws[:, :6], names=names[:6]))


def test_below_one_half_no_sentence_says_that_an_item_leads():
    draws = [[2.0, 1.0, 0.0]] * 49 + [[0.0, 2.0, 1.0]] * 26 + [[1.0, 0.0, 2.0]] * 25
    assert answer(summary(draws)) == (
        "No clear leader: ale has the lowest mean rank, and is the best with probability 0.49, but "
        "bock and cider may be better."
    )
    assert verdict(summary(draws)) == (
        "No clear leader: ale has the lowest mean rank (1.8), and is the best with probability "
        "0.49. 2 other items are tied with it and may be better: bock, cider."
    )
    text = page(summary(draws))
    assert "leads, and" not in text
    assert "No clear leader" in text


def test_a_summary_without_its_leader_raises():
    with pytest.raises(ValueError, match=r"^`summary` has 0 leaders; it must have one\. Pass the"):
        verdict(summary().drop(index="ale"))


def test_the_verdict_says_when_the_leader_is_alone():
    assert verdict(summary([[2.0, 1.0, 0.0]] * 3)) == (
        "ale leads: mean rank 1.0, best with probability 1.00. ale is better than all other items "
        "jointly with probability 0.95 or more."
    )
    assert verdict(summary([[2.0, 1.0]] * 3, names=["ale", "bock"])) == (
        "ale leads: mean rank 1.0, best with probability 1.00. ale is better than the other item "
        "with probability 0.95 or more."
    )


def test_the_verdict_of_one_item_has_no_others():
    assert verdict(summary([[1.0]], names=["ale"])) == (
        "ale leads: mean rank 1.0, best with probability 1.00."
    )


def test_the_verdict_says_who_is_oftener_the_best_than_the_leader():
    # ale is 2 always; bock 1 in three of five draws and last in the others
    draws = [[1.0, 2.0, 0.0]] * 3 + [[1.0, -1.0, 0.0]] * 2
    text = verdict(summary(draws))
    # mean ranks: ale (2 2 2 1 1) 1.6; bock (1 1 1 3 3) 1.8
    assert text.startswith(
        "No clear leader: ale has the lowest mean rank (1.6), and is the best with probability "
        "0.40."
    )
    assert text.endswith(
        " bock is best with a higher probability (0.60), but its mean rank is 1.8, because its "
        "place is less certain."
    )
    assert "higher probability" not in verdict(summary())
