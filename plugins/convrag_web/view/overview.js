/**
 * A run as a whole: scores, also by turn number and label, remarks, usage, stages, configuration.
 */

import { renderCauses } from "./causes.js";
import { formatKey, renderData } from "./data.js";
import { make, makeFold, makeTable } from "./dom.js";
import { formatScore } from "./format.js";
import { formatRoute } from "./route.js";
import { makeBar } from "./scores.js";
import { joinLabel } from "./selection.js";
import { makeSortable } from "./sorting.js";

/** Show a run. */
export function renderOverview(run, route) {
  const { facts } = run;
  const [heading, rows] = facts.table;
  const [usageHeading, ...usage] = facts.usage;
  return make(
    "div",
    { class: "overview turn" },
    make("h2", {}, facts.name),
    facts.ending && make("p", { class: `trouble ${facts.state}` }, facts.ending),
    make(
      "p",
      { class: "chips" },
      facts.stages.map(([group, option]) =>
        make("span", { class: "chip" }, make("span", { class: "key" }, `${group} `), option),
      ),
    ),
    rows.length > 0 &&
      make(
        "section",
        {},
        make("h3", {}, "Scores"),
        renderMain(facts),
        makeFold("All measures", {}, makeSortable(makeTable(heading, rows, 1, "All measures"))),
      ),
    renderCauses([run], route),
    Object.entries(facts.slices)
      .filter(([, slices]) => slices.length > 1)
      .map(([name, slices]) => renderSlices(name, slices, facts.main, route)),
    Object.entries(facts.plots ?? {}).map(([name, picture]) =>
      make(
        "section",
        {},
        make("h3", {}, formatKey(name)),
        make(
          "figure",
          {},
          make("img", { src: `data:image/svg+xml;base64,${picture}`, alt: name, loading: "lazy" }),
        ),
      ),
    ),
    make(
      "section",
      {},
      make("h3", {}, "Remarks"),
      make(
        "ul",
        { class: "remarks" },
        facts.remarks.map((line) => make("li", {}, line)),
      ),
    ),
    usage.length > 0 &&
      make(
        "section",
        {},
        make("h3", {}, "Language models"),
        makeTable(usageHeading, usage, 1, "Usage"),
      ),
    make("section", {}, makeFold("Configuration", {}, renderData(facts.config))),
  );
}

function renderMain(facts) {
  const names = facts.main.length ? facts.main : Object.keys(facts.overall).slice(0, 4);
  return make(
    "dl",
    { class: "scores main" },
    names.map((name) =>
      make(
        "div",
        { class: "score" },
        make("dt", {}, name),
        make(
          "dd",
          {},
          make("b", {}, formatScore(facts.overall[name])),
          makeBar(facts.overall[name]),
        ),
      ),
    ),
  );
}

/** The scores by turn number or by the values of a label; each leads to its turns. */
function renderSlices(name, slices, measures, route) {
  const target = (value) =>
    formatRoute({
      ...route,
      turn: "",
      view: "list",
      ...(name === "turn" ? { number: value } : { label: joinLabel(name, value) }),
    });
  const rows = slices.map(([value, turns, scores]) => [
    make("a", { href: target(value) }, value),
    String(turns),
    ...measures.map((measure) =>
      make("span", { class: "with-bar" }, formatScore(scores[measure]), makeBar(scores[measure])),
    ),
  ]);
  return make(
    "section",
    {},
    make("h3", {}, `By ${formatKey(name)}`),
    makeTable([formatKey(name), "turns", ...measures], rows, 1, `Scores by ${formatKey(name)}`),
  );
}
