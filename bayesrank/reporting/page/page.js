"use strict";
function make(name, text, more) {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  return Object.assign(made, more);
}
// Numbers by their size, whatever follows them; all else as text.
function key(cell) {
  const text = cell.textContent.trim().replaceAll(",", "").replace("\u2212", "-");
  const number = parseFloat(text);
  return Number.isNaN(number) || !/^[-+.\d]/.test(text) ? [1, text.toLowerCase()] : [0, number];
}
function compare(a, b) {
  return a[0] - b[0] || (a[0] ? a[1].localeCompare(b[1]) : a[1] - b[1]);
}
// A table shows its first rows, the rows with a searched name, or all. Heads sort all rows.
function managed(table, first, rest) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  const own = [...(rest ? rest.querySelector("table") : table).tBodies[0].rows];
  const state = {rows: own, names: heads.map(head => head.textContent), wanted: "", all: !rest, by: -1, turn: 1};
  const status = make("span");
  table.className = "sortable";
  state.draw = () => {
    let rows = state.rows;
    if (state.by >= 0) {
      const keyed = rows.map(row => [key(row.cells[state.by]), row]);
      rows = keyed.sort((a, b) => state.turn * compare(a[0], b[0])).map(pair => pair[1]);
    }
    const found = rows.filter(row => row.cells[0].textContent.toLowerCase().includes(state.wanted));
    status.textContent = state.wanted ? `${found.length} of ${rows.length}` : "";
    body.replaceChildren(...(state.wanted || state.all ? found : found.slice(0, first)));
  };
  heads.forEach((head, k) => {
    const button = make("button", "", {type: "button", title: "Sort by " + head.textContent});
    button.append(...head.childNodes);
    head.append(button);
    head.addEventListener("click", () => {
      state.turn = state.by === k ? -state.turn : 1;
      state.by = k;
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", state.turn > 0 ? "ascending" : "descending");
      state.draw();
    });
  });
  if (own.length > 20) searchable(table, state, status);
  if (rest) folding(rest, state);
  return state;
}
function searchable(table, state, status) {
  const line = make("p", "", {className: "search"}), label = make("label", "Search: ");
  const input = make("input", "", {type: "search"});
  status.setAttribute("role", "status");
  label.append(input);
  line.append(label, " ", status);
  table.parentNode.before(line);
  input.addEventListener("input", () => {
    state.wanted = input.value.trim().toLowerCase();
    state.draw();
  });
}
// A button in the place of the fold shows all rows in the same table.
function folding(rest, state) {
  const button = make("button", rest.firstElementChild.textContent, {type: "button"});
  const line = make("p", "", {className: "fold"});
  button.setAttribute("aria-expanded", false);
  button.addEventListener("click", () => {
    state.all = !state.all;
    button.setAttribute("aria-expanded", state.all);
    state.draw();
  });
  line.append(button);
  rest.replaceWith(line);
  state.draw();
}
const tables = [];
for (const table of document.querySelectorAll("table")) {
  const next = table.parentNode.nextElementSibling;
  const rest = next && next.classList.contains("rest") ? next : null;
  if (!table.isConnected || table.tBodies[0].rows.length < 2) continue;
  tables.push(managed(table, table.tBodies[0].rows.length, rest));
}
function cue() {
  for (const box of document.querySelectorAll(".wide")) {
    box.classList.remove("more");
    box.classList.toggle("more", box.scrollWidth > box.clientWidth + 1);
  }
}
for (const name of ["resize", "load"]) addEventListener(name, cue);
document.addEventListener("toggle", cue, true);
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details")) part.open = true;
  for (const table of tables) { table.all = true; table.draw(); }
});
// The command and the calls of Python can be copied.
for (const command of navigator.clipboard ? document.querySelectorAll(".command") : []) {
  const button = make("button", "Copy", {type: "button"});
  button.addEventListener("click", () => navigator.clipboard
    .writeText(command.firstChild.textContent).then(() => { button.textContent = "Copied"; }));
  command.append(button);
}
// Two items can be compared. Pairs are numbered by rows of the upper triangle.
const {pairs, variants} = JSON.parse(document.getElementById("results").textContent);
function versus({items, mean, better, sd, met}) {
  const n = items.length, place = document.getElementById("s0");
  const box = make("section", "", {className: "versus"}), said = make("output");
  const [one, other] = [0, 1].map(chosen => {
    const select = make("select");
    items.forEach((item, k) => select.append(make("option", item, {value: k})));
    select.selectedIndex = chosen;
    select.setAttribute("aria-label", chosen ? "Second item" : "First item");
    select.addEventListener("change", show);
    return select;
  });
  const times = (count) => count === 1 ? "once" : `${count} times`;
  function show() {
    const i = one.selectedIndex, j = other.selectedIndex;
    if (i === j) { said.textContent = "Choose two different items."; return; }
    const [a, b] = [Math.min(i, j), Math.max(i, j)], k = a * (2 * n - a - 1) / 2 + b - a - 1;
    const p = i < j ? better[k] : 1000 - better[k];
    const won = met ? met[k] || [0, 0, 0] : null, [w, l] = won && (i < j ? won : [won[1], won[0]]) || [];
    const shown = p / 1000 > .995 ? "more than 0.99" : p / 1000 < .005 ? "less than 0.01" : (p / 1000).toFixed(2);
    said.textContent = `${items[i]} is better than ${items[j]} with probability ${shown}. `
      + `The difference of their utilities is ${(mean[i] - mean[j]).toFixed(2)} \u00b1 ${sd[k].toFixed(2)}. `
      + (!won ? "" : w + l + won[2] === 0 ? "The data never compare them."
        : `Compared directly, ${items[i]} was ahead ${times(w)}${won[2] ? `, level ${times(won[2])},` : ""}`
          + ` and behind ${times(l)}.`);
  }
  box.append(make("h2", "Compare two items"), one, " and ", other, said);
  place.before(box);
  show();
}
if (pairs) versus(pairs);
// The first sentence, the picture and the table can show the answer under another choice.
function switches() {
  const list = document.querySelector(".leaders"), bars = [...list.children];
  const sentence = document.querySelector(".answer"), said = sentence.textContent;
  const last = list.parentNode.querySelector(".last"), lowest = last.textContent;
  const ranks = tables[0], own = ranks.rows, known = new Map(own.map(row => [row.cells[0].textContent, row]));
  const row = make("p", "", {className: "variants"}), hint = "Each other choice is a quick fit.";
  const note = make("p", hint, {className: "choice"});
  note.setAttribute("role", "status");
  function bar({name, status, title, width, p_best, ranks, x, x1, x2}) {
    const li = bars[0].cloneNode(true), range = li.querySelector(".range");
    li.className = status;
    li.title = title;
    li.querySelector(".name").textContent = name;
    li.querySelector("rect").setAttribute("width", width + "%");
    li.querySelector(".number").textContent = p_best;
    range.querySelector("line").setAttribute("x1", x1 + "%");
    range.querySelector("line").setAttribute("x2", x2 + "%");
    range.querySelector("circle").setAttribute("cx", x + "%");
    li.lastElementChild.textContent = ranks;
    return li;
  }
  function line(item, i, {ranks: cells, statuses}) {
    const line = (known.get(item) || own[0]).cloneNode(true);
    line.className = statuses[i];
    [...line.cells].forEach((cell, k) => {
      const values = cells[ranks.names[k]];
      if (values) cell.textContent = values[i];
      else if (known.has(item)) cell.classList.add("stale");
      else cell.textContent = "";
    });
    return line;
  }
  variants.forEach((variant, v) => {
    const button = make("button", variant.label, {type: "button"});
    button.setAttribute("aria-pressed", v === 0);
    button.addEventListener("click", () => {
      for (const each of row.children) each.setAttribute("aria-pressed", each === button);
      document.body.classList.toggle("other", v > 0);
      sentence.textContent = v ? variant.answer : said;
      last.textContent = v ? variant.leaders.last : lowest;
      list.replaceChildren(...(v ? variant.leaders.rows.map(bar) : bars));
      ranks.rows = v ? variant.ranks.Item.map((item, i) => line(item, i, variant)) : own;
      ranks.draw();
      note.textContent = v ? `A quick fit with another choice: ${variant.label}. What is grey is as analysed.` : hint;
    });
    row.append(button);
  });
  list.parentNode.before(row, note);
}
if (variants) switches();
