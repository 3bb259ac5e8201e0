/** The list of turns, with the fields that sort and filter it. */

import { make } from "./dom.js";
import { countOf, formatScore } from "./format.js";
import { chip } from "./passages.js";
import { formatRoute } from "./route.js";
import { makeBar, renderDifference } from "./scores.js";
import {
  COMPARING_SORTS,
  SORTS,
  STATES,
  getDifference,
  joinLabel,
  listMeasures,
  listValues,
} from "./selection.js";

const BATCH = 100; // rows that are made at once
const MOST_AT_FIRST = 2000; // rows that are made for a turn far down in the list to be in sight

/** Show the fields; `change({ field: value })` is called with what the reader chose. */
export function renderFilters(run, other, route, change) {
  const { index } = run;
  const numbers = [...new Set(index.number)].sort((one, two) => one - two);
  const domains = [...new Set(index.domain)];
  const labels = Object.entries(index.labels).map(([name, column]) => [
    name,
    [...new Set(column.flatMap(listValues))].sort(),
  ]);
  const listen = (name) => (event) => change({ [name]: event.target.value });
  return make(
    "form",
    {
      class: "filters",
      role: "search",
      "aria-label": "Turns",
      onsubmit: (event) => event.preventDefault(),
    },
    make("input", {
      type: "search",
      placeholder: "Search questions and answers",
      "aria-label": "Search questions and answers",
      value: route.text,
      oninput: listen("text"),
    }),
    makeSelect("Order", "sort", [...(other ? COMPARING_SORTS : []), ...SORTS], route.sort, listen),
    listMeasures(run).length > 0 &&
      makeSelect(
        "Measure",
        "measure",
        listMeasures(run).map((name) => [name, name]),
        route.measure,
        listen,
      ),
    makeSelect("State", "state", [["", "every state"], ...STATES], route.state, listen),
    numbers.length > 1 &&
      makeSelect(
        "Turn number",
        "number",
        [["", "every turn number"], ...numbers.map((each) => [String(each), `turn ${each}`])],
        route.number,
        listen,
      ),
    domains.length > 1 &&
      makeSelect(
        "Domain",
        "domain",
        [["", "every domain"], ...domains.map((each) => [each, each])],
        route.domain,
        listen,
      ),
    labels.length > 0 && makeLabelSelect(labels, route.label, listen("label")),
  );
}

/** Show the turns at these places; more rows are made when the reader comes to the end. */
export function renderList(run, other, route, places) {
  const list = make("ol", { class: "turns" });
  const more = make(
    "button",
    { type: "button", class: "more", onclick: () => addRows() },
    "Show more",
  );
  const element = make(
    "div",
    {},
    make(
      "p",
      { class: "note", role: "status" },
      `${countOf(places.length, "turn")} of ${run.index.turn.length}`,
    ),
    list,
    more,
  );
  let shown = 0;
  let conversation = null;
  const addRows = (count = BATCH) => {
    for (const place of places.slice(shown, shown + count)) {
      if (route.sort === "order" && run.index.conversation[place] !== conversation) {
        conversation = run.index.conversation[place];
        list.append(make("li", { class: "conversation" }, make("code", {}, conversation)));
      }
      list.append(make("li", {}, renderRow(run, other, route, place)));
    }
    shown += count;
    more.hidden = shown >= places.length;
  };
  const current = places.indexOf(run.places.get(route.turn));
  addRows(current < MOST_AT_FIRST ? Math.max(BATCH, current + 1) : BATCH);
  new IntersectionObserver(
    (entries) => entries.some((entry) => entry.isIntersecting) && !more.hidden && addRows(),
  ).observe(more);
  return element;
}

function renderRow(run, other, route, place) {
  const { index } = run;
  const score = index.scores[route.measure]?.[place];
  return make(
    "a",
    {
      href: formatRoute({ ...route, turn: index.turn[place], view: "" }),
      "data-place": String(place),
    },
    make("span", { class: "question" }, index.question[place] || "(no question)"),
    make(
      "span",
      { class: "about" },
      make("span", {}, `turn ${index.number[place]} of ${index.conversation[place]}`),
      Boolean(index.failed[place]) && chip("failed", "failed"),
      index.fell_back[place].length > 0 && chip("fell-back", "fell back"),
      index.relevant[place] > 0 &&
        chip(
          rateFound(index, place),
          `${index.found[place]}/${index.relevant[place]} found`,
          "relevant passages that were retrieved",
        ),
    ),
    make(
      "span",
      { class: "value" },
      formatScore(score),
      other &&
        renderDifference(
          getDifference(run, other, place, route.measure),
          run.shares.has(route.measure),
        ),
    ),
    run.shares.has(route.measure) && makeBar(score),
  );
}

function rateFound(index, place) {
  if (index.found[place] === index.relevant[place]) return "gold";
  return index.found[place] ? "fell-back" : "missed";
}

function makeSelect(name, field, options, value, listen) {
  return make(
    "select",
    { "aria-label": name, name: field, onchange: listen(field) },
    options.map(([key, text]) => make("option", { value: key, selected: key === value }, text)),
  );
}

function makeLabelSelect(labels, value, listener) {
  return make(
    "select",
    { "aria-label": "Label", name: "label", onchange: listener },
    make("option", { value: "" }, "every label"),
    labels.map(([name, values]) =>
      make(
        "optgroup",
        { label: name.replaceAll("_", " ") },
        values.map((each) =>
          make(
            "option",
            { value: joinLabel(name, each), selected: joinLabel(name, each) === value },
            each,
          ),
        ),
      ),
    ),
  );
}
