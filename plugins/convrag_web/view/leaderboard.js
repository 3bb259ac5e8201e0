/** A comparison as a whole: the leaderboard, with links to the runs' own reports, the remarks and the plots. */

import { make, makeTable } from "./dom.js";
import { formatScore } from "./format.js";

/** Show the head of a comparison; `readPlot(number)` gives a picture. */
export function renderLeaderboard(head, readPlot) {
  const { board } = head;
  return make("div", { class: "overview turn" },
    make("h2", {}, "Leaderboard"),
    makeTable(listHeadings(board), board.rows.map((row) => listCells(board, row, head.links[row.name])), board.factors.length || 1, "Leaderboard"),
    make("p", { class: "note" }, "Means over the scored turns with their 95 % intervals; the difference is to the baseline. leaderboard.md beside this file says how they were computed."),
    head.lines.length > 0 && make("section", {}, make("h3", {}, "Remarks"), make("ul", { class: "remarks" }, head.lines.map((line) => make("li", {}, line)))),
    head.plots.length > 0 && make("section", {}, make("h3", {}, "Plots"), make("div", { class: "plots" }, head.plots.map((name, number) => renderPlot(name, readPlot(number))))));
}

function listHeadings(board) {
  const labels = board.factors.length ? board.factors : ["run"];
  return [...labels, ...board.metrics.flatMap((name) => [name, "95 %", "difference", "p (Holm)"]), "state", "turns"];
}

function listCells(board, row, link) {
  const scores = board.metrics.flatMap((name) => {
    const { mean, low, high, difference, p } = row.compared[name];
    return [formatScore(mean), low === null ? "" : `${formatScore(low)} \u2013 ${formatScore(high)}`, difference, p];
  });
  return [...row.levels, ...scores, row.label, link ? make("a", { href: link, "aria-label": `report of ${row.levels.join(" ")}` }, "report") : ""];
}

function renderPlot(name, picture) {
  return make("figure", {}, make("img", { src: `data:image/png;base64,${picture}`, alt: name, loading: "lazy" }), make("figcaption", {}, name));
}
