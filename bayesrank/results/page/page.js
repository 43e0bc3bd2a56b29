"use strict";
// Numbers by their size, whatever follows them; all else as text.
function key(cell) {
  const text = cell.textContent.trim().replaceAll(",", "").replace("\u2212", "-");
  const number = parseFloat(text);
  return Number.isNaN(number) || !/^[-+.\d]/.test(text) ? [1, text.toLowerCase()] : [0, number];
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
  const input = document.createElement("input"), status = document.createElement("span");
  input.type = "search";
  status.setAttribute("role", "status");
  label.append("Search: ", input);
  line.className = "search";
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
function cue() {
  for (const box of document.querySelectorAll(".wide")) {
    box.classList.remove("more");
    box.classList.toggle("more", box.scrollWidth > box.clientWidth + 1);
  }
}
addEventListener("resize", cue);
addEventListener("load", cue);
