/** What stands below an answer: its sources, and what can be done with it. */

import { sumTimes } from "../view/costs.js";
import { make } from "../view/dom.js";
import { countOf, formatSeconds } from "../view/format.js";
import { announce } from "./announce.js";
import { button } from "./controls.js";
import { nameSource } from "./sources.js";

/**
 * @param {import("./sources.js").Source[]} sources
 * @param {(source: import("./sources.js").Source) => void} open
 * @returns {HTMLElement[]} the cited passages, and those that the model saw without citing them
 */
export function renderSources(sources, open) {
  const makeList = (some) =>
    make(
      "ul",
      { class: "sources" },
      ...some.map((source) => make("li", {}, makeButton(source, open))),
    );
  const cited = sources.filter((source) => source.cited);
  const others = sources.filter((source) => !source.cited);
  const parts = [];
  if (cited.length)
    parts.push(
      make(
        "div",
        { class: "cited-sources" },
        make("span", { class: "caption" }, "Sources"),
        makeList(cited),
      ),
    );
  if (others.length) {
    const summary = cited.length
      ? countOf(others.length, "more passage")
      : countOf(others.length, "passage");
    parts.push(
      make(
        "details",
        { class: "uncited" },
        make("summary", {}, `${summary} read, not cited`),
        makeList(others),
      ),
    );
  }
  return parts;
}

/**
 * @param {Object} record
 * @param {{again: Function|null, check: Function, inside: Function}} actions `again` is null where
 *     the turn cannot be answered again
 * @returns {HTMLElement[]}
 */
export function renderActions(record, { again, check, inside }) {
  return [
    !record.error && button("Copy", () => copy(record.agent_response), { icon: "copy" }),
    again && button("Regenerate", again, { icon: "again" }),
    !record.error &&
      record.evidence?.length > 0 &&
      button("Check", check, { icon: "search", title: "Mark what the passages do not support" }),
    button("Look inside", inside, { icon: "inside" }),
    make("span", { class: "seconds" }, formatSeconds(sumTimes(record))),
  ];
}

function makeButton(source, open) {
  const attributes = { type: "button", class: "source", onclick: () => open(source) };
  return make(
    "button",
    attributes,
    make("span", { class: "number" }, String(source.number)),
    nameSource(source),
  );
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    announce("The answer was copied.");
  } catch {
    // Without https, on another address than this machine's
    announce("The browser does not allow copying.");
  }
}
