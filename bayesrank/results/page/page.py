"""The frame of the page: what it looks like, what stands on it in which order, and its script.

All is in one file that asks nothing of the network. Without the script the tables do not sort and
cannot be searched, and nothing else is missing. A Content-Security-Policy has the browser load
nothing, and run this script alone.
"""

import base64
import hashlib

__all__ = [
    "ELO",
    "FIT",
    "HOW_TO_READ",
    "LOWER",
    "PAGE",
    "POLICY",
    "READING",
    "SCRIPT",
    "STYLE",
    "TIERS",
    "WORDS",
]

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head><body>
<header>
<h1>{title}</h1>
{made}
<p class="verdict">{verdict}</p>
{top}
<nav aria-label="Contents">{contents}</nav>
</header>
<main>
{sections}
</main>
<script>{script}</script>
</body></html>
"""

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem;
  margin: 0 auto; padding: 1rem; }
h1 { line-height: 1.2; margin-bottom: .2rem; }
h2 { margin-top: 2.2rem; border-bottom: 1px solid #ddd; }
h1, p, li, td:first-child { overflow-wrap: anywhere; }
.made { color: #555; font-size: .9rem; margin-top: 0; }
.verdict { font-size: 1.2rem; }
.fit, .warn { padding: .5rem .8rem; border-left: .35rem solid #8a8a8a; background: #f4f4f4; }
.warn { background: #fff3cd; border-color: #d8a100; }
.misfit { background: #f8d7da; border-color: #b3261e; font-weight: 600; }
nav { font-size: .95rem; }
nav a { display: inline-block; margin: .1rem .9rem .1rem 0; }
/* Wide things scroll by themselves, as a narrow screen would make their text unreadable. A shadow
   at the edge, and words above, say that there is more. */
.wide { overflow-x: auto; background:
  linear-gradient(to right, #fff 30%, #fff0) 0 0 / 3rem 100% no-repeat local,
  linear-gradient(to left, #fff 30%, #fff0) 100% 0 / 3rem 100% no-repeat local,
  linear-gradient(to right, #0004, #0000) 0 0 / 1rem 100% no-repeat scroll,
  linear-gradient(to left, #0004, #0000) 100% 0 / 1rem 100% no-repeat scroll; }
.more::before { content: "There is more at the side: scroll \\2192"; position: sticky; left: 0;
  display: inline-block; color: #555; font-size: .85rem; }
img { width: 100%; min-width: 34rem; max-width: 48rem; height: auto; display: block; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
th, td { padding: .25rem .3rem; text-align: right; border-bottom: 1px solid #ddd;
  white-space: nowrap; }
th { vertical-align: bottom; white-space: normal; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 8rem;
  max-width: 22rem; position: sticky; left: 0; background: #fff; }
.text, .prose { text-align: left; }
.prose { white-space: normal; min-width: 14rem; }
thead th { border-bottom: 2px solid #444; }
th button { font: inherit; font-weight: bold; color: inherit; background: none; border: 0;
  padding: 0; cursor: pointer; text-align: inherit; }
th button::after { content: "\\2195"; color: #999; margin-left: .25rem; }
th[aria-sort=ascending] button::after { content: "\\2191"; color: #222; }
th[aria-sort=descending] button::after { content: "\\2193"; color: #222; }
.search { margin: .5rem 0; }
.search input { font: inherit; padding: .2rem .4rem; width: 16rem; max-width: 100%; }
tr.leads td:first-child, tr.close td:first-child, tr.tied td:first-child { color: #0072B2;
  font-weight: 600; }
tr.unknown td:first-child { color: #2a78ab; font-style: italic; }
.file { font-size: .9rem; }
@media print {
  body { max-width: none; padding: 0; font-size: 11pt; }
  nav, .search, th button::after, .more::before { display: none; }
  .wide { overflow: visible; background: none; }
  img { min-width: 0; max-width: 100%; max-height: 24cm; width: auto; }
  table { font-size: 8pt; } th, td { padding: .1rem .35rem; }
  tr, thead, img, .warn, .fit { break-inside: avoid; } h2 { break-after: avoid; }
  .file, .wide:has(img) { break-before: avoid; }
}
"""

SCRIPT = """
"use strict";
// Numbers by their size, whatever follows them; all else as text.
function key(cell) {
  const text = cell.textContent.trim().replaceAll(",", "").replace("\\u2212", "-");
  const number = parseFloat(text);
  return Number.isNaN(number) || !/^[-+.\\d]/.test(text) ? [1, text.toLowerCase()] : [0, number];
}
function compare(a, b) {
  return a[0] - b[0] || (a[0] ? a[1].localeCompare(b[1]) : a[1] - b[1]);
}
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0], rows = [...body.rows];
  if (rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((head, k) => {
    const button = document.createElement("button");
    button.type = "button";
    button.title = "Sort by " + head.textContent;
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", turn > 0 ? "ascending" : "descending");
      const keyed = rows.map(row => [key(row.cells[k]), row]);
      keyed.sort((a, b) => turn * compare(a[0], b[0]));
      body.append(...keyed.map(pair => pair[1]));
    });
  });
  if (rows.length <= 10) continue;
  const line = document.createElement("p"), label = document.createElement("label");
  const input = document.createElement("input"), said = document.createElement("span");
  input.type = "search";
  said.setAttribute("role", "status");
  label.append("Search: ", input);
  line.className = "search";
  line.append(label, " ", said);
  table.parentNode.before(line);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let found = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      found += !row.hidden;
    }
    said.textContent = wanted ? `${found} of ${rows.length}` : "";
  });
}
function cue() {
  for (const box of document.querySelectorAll(".wide")) {
    box.classList.remove("more");
    box.classList.toggle("more", box.scrollWidth > box.clientWidth + 1);
  }
}
addEventListener("resize", cue);
addEventListener("load", cue);
"""


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


POLICY = (
    f"default-src 'none'; img-src data:; style-src {_digest(STYLE)}; "
    f"script-src {_digest(SCRIPT)}; base-uri 'none'; form-action 'none'"
)

HOW_TO_READ = """<ul>
<li><b>Rank</b> is a place in the order of all items, 1 for the best. The data do not fix that
order, so each item has a range of ranks: it lies between <b>from</b> and <b>to</b>, the thin line
in the picture, with probability {interval:g}. The thick line holds it with probability 0.5, and
the circle is the <b>mean rank</b>{sorted}.</li>
<li><b>P(best)</b> is the probability that the item is the best of all, <b>P(top {top})</b> that it
is one of the best {top}.</li>
<li><b>Standing</b> says which items may be better than the leader. {words} The leader is better
than all the others, at once, with probability {tied_prob:g} or more.</li>
<li><b>Utility</b> says how good an item is, and ± how sure that is (a standard deviation). What a
difference means: {reading}.</li>
{more}{fit}</ul>"""

WORDS = {
    "close": "<b>Close</b> (blue) are those whose utility is about as high, by what the data say.",
    "unknown": "<b>Unknown</b> (light blue) are those of which the data say too little: they took "
    "away less than half of the variance that the utility has before any data.",
    "tied": "<b>Tied</b> (blue) are those that cannot be told from it.",
}
READING = "in a ranking of two, an item beats another with probability 1 / (1 + exp(−difference))"
ELO = """<li><b>Elo</b>: one that is d points ahead beats another, if the two do not tie, with
probability 1 / (1 + 10<sup>−d / 400</sup>): 100 points are odds of 1.8 to 1, and 400 of ten to one.
</li>
"""
LOWER = """<li><b>Lower</b>: the lower end of the interval of the utility, or of its Elo, with
probability {interval:g}, by which the table is sorted: an item of which little is known stands
lower in it. Standings, and the picture, are by mean rank.</li>
"""
TIERS = """<li><b>Tier</b> 1 has the best items: each item is better than all those of lower tiers,
for all tiers at once, with probability {tied_prob:g} or more. Inside a tier the order is open.</li>
"""
FIT = """<li><b>Whether the model fits</b>: what the model predicts is held against what was
observed. Where the two differ by more than chance, the model misses something, and ranks and
probabilities are less sure than they look.</li>
"""
