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
function sortable(table) {
  const body = table.tBodies[0], rows = [...body.rows];
  [...table.tHead.rows[0].cells].forEach((head, k) => {
    const button = make("button", "", {type: "button", title: "Sort by " + head.textContent});
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
  return rows;
}
function searchable(table, rows) {
  const line = make("p", "", {className: "search"}), label = make("label", "Search: ");
  const input = make("input", "", {type: "search"}), status = make("span");
  status.setAttribute("role", "status");
  label.append(input);
  line.append(label, " ", status);
  table.parentNode.before(line);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let found = 0;
    for (const row of rows) {
      row.hidden = !row.cells[0].textContent.toLowerCase().includes(wanted);
      found += !row.hidden;
    }
    status.textContent = wanted ? `${found} of ${rows.length}` : "";
  });
}
for (const table of document.querySelectorAll("table")) {
  if (table.tBodies[0].rows.length < 2) continue;
  const rows = sortable(table);
  if (rows.length > 20) searchable(table, rows);
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
});
// The command can be copied.
const command = document.querySelector(".command");
if (command && navigator.clipboard) {
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
// The picture of the leaders can show the answer under another choice.
function switches() {
  const list = document.querySelector(".leaders"), before = list.innerHTML;
  const row = make("p", "", {className: "variants"});
  const caption = list.parentNode.firstElementChild, says = caption.innerHTML;
  variants.forEach(({label, best}, v) => {
    const button = make("button", label, {type: "button"});
    button.setAttribute("aria-pressed", v === 0);
    button.addEventListener("click", () => {
      for (const each of row.children) each.setAttribute("aria-pressed", each === button);
      caption.innerHTML = says;
      list.innerHTML = before;
      if (v === 0) return;
      caption.textContent = "Probability of being the best, P(best), with another choice: " + label;
      [...list.children].forEach((li, k) => {
        li.hidden = k >= best.length;
        if (li.hidden) return;
        li.className = k ? "" : "leads";
        li.title = "";
        li.querySelector(".name").textContent = best[k][0];
        li.querySelector("rect").setAttribute("width", 100 * best[k][1] + "%");
        li.querySelector(".number").textContent = best[k][1].toFixed(2);
        for (const part of li.querySelectorAll(".ranks")) part.remove();
      });
    });
    row.append(button);
  });
  list.parentNode.before(row);
}
if (variants) switches();
