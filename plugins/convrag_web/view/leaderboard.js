/** A comparison as a whole: the leaderboard with links to the runs' reports, remarks and plots. */

import { renderCauses } from "./causes.js";
import { make, makeTable } from "./dom.js";
import { formatScore } from "./format.js";
import { makeSortable } from "./sorting.js";

/** Show the head of a comparison; `runs` have turns here, `readPlot(number)` returns a picture. */
export function renderLeaderboard(head, runs, readPlot, route) {
  const { board } = head;
  const rows = board.rows.map((row) => listCells(board, row, head.links[row.name]));
  return make(
    "div",
    { class: "overview turn" },
    make("h2", {}, "Leaderboard"),
    makeSortable(makeTable(listHeadings(board), rows, board.factors.length || 1, "Leaderboard")),
    make(
      "p",
      { class: "note" },
      "Means over the scored turns with their 95 % intervals, the difference to the baseline with " +
        "its p (Holm). A head sorts. leaderboard.md beside this file says how they were computed.",
    ),
    renderCauses(runs, route),
    head.lines.length > 0 &&
      make(
        "section",
        {},
        make("h3", {}, "Remarks"),
        make(
          "ul",
          { class: "remarks" },
          head.lines.map((line) => make("li", {}, line)),
        ),
      ),
    head.plots.length > 0 &&
      make(
        "section",
        {},
        make("h3", {}, "Plots"),
        make(
          "div",
          { class: "plots" },
          head.plots.map((name, number) => renderPlot(name, readPlot(number))),
        ),
      ),
  );
}

function listHeadings(board) {
  const labels = board.factors.length ? board.factors : ["run"];
  return [...labels, ...board.metrics.flatMap((name) => [name, "difference"]), "report"];
}

function listCells(board, row, link) {
  const scores = board.metrics.flatMap((name) => {
    const { mean, low, high, difference, p } = row.compared[name];
    return [
      makeCell(
        formatScore(mean),
        low === null ? "" : `${formatScore(low)} \u2013 ${formatScore(high)}`,
      ),
      makeCell(difference, p && `p ${p}`, difference === "baseline" ? "0" : difference),
    ];
  });
  return [
    ...row.levels,
    ...scores,
    link
      ? make("a", { href: link, "aria-label": `report of ${row.levels.join(" ")}` }, row.label)
      : row.label,
  ];
}

function makeCell(text, below, key = text) {
  return make(
    "div",
    {},
    make("span", { "data-key": key }, text),
    below && make("small", {}, below),
  );
}

function renderPlot(name, picture) {
  return make(
    "figure",
    {},
    make("img", { src: `data:image/png;base64,${picture}`, alt: name, loading: "lazy" }),
    make("figcaption", {}, name),
  );
}
