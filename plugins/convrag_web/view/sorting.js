/** Tables whose rows are sorted by a click on the head of a column. */

import { make } from "./dom.js";

/** Let each head of a table sort its rows; the second click reverses the order. */
export function makeSortable(element) {
  const heads = [...element.querySelectorAll("thead th")];
  heads.forEach((head, column) => {
    if (!head.textContent) return;
    const click = () => sortRows(element.querySelector("tbody"), heads, column);
    head.replaceChildren(
      make("button", { type: "button", class: "sorts", onclick: click }, ...head.childNodes),
    );
  });
  return element;
}

function sortRows(body, heads, column) {
  const rows = [...body.rows].map((row) => ({ row, key: readKey(row.cells[column]) }));
  const numeric = rows.every(({ key }) => key === "" || Number.isFinite(toNumber(key)));
  const first = numeric ? "descending" : "ascending";
  const order =
    heads[column].getAttribute("aria-sort") === first
      ? numeric
        ? "ascending"
        : "descending"
      : first;
  const compare = numeric
    ? (one, two) => toNumber(one) - toNumber(two)
    : (one, two) => one.localeCompare(two, undefined, { numeric: true });
  rows.sort(({ key: one }, { key: two }) => {
    // What was not measured stays below
    if (one === "" || two === "") return (one === "") - (two === "");
    return order === "ascending" ? compare(one, two) : compare(two, one);
  });
  for (const head of heads) head.removeAttribute("aria-sort");
  heads[column].setAttribute("aria-sort", order);
  body.append(...rows.map(({ row }) => row));
}

/** What a cell is sorted by: its `data-key`, else its text. */
function readKey(cell) {
  const part = cell.querySelector("[data-key]");
  return part ? part.dataset.key : cell.textContent.trim();
}

function toNumber(text) {
  return Number(text.replace("\u2212", "-").replaceAll(",", ""));
}
