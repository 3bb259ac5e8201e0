/** The queries of a turn with their weights, and the trace of its rewriter. */

import { make } from "./dom.js";
import { renderData } from "./data.js";

// The hash of a prompt template, whose trace it is, and thoughts, which are no reasons
const HIDDEN = new Set(["prompt", "system", "reasoning"]);

const KINDS = { lexical: "for words", dense: "for vectors" };

/** Name the kind of search of a query, and the rewriter it is from: ", for words, from mmr". */
export function describeSearch(query) {
  return (
    (KINDS[query.search] ? `, ${KINDS[query.search]}` : "") +
    (query.source ? `, from ${query.source}` : "")
  );
}

/** Show the queries. `changed` are texts of queries that another turn does not have. */
export function renderQueries(record, changed = new Set()) {
  if (!record.queries?.length) return null;
  const single = record.queries.length === 1;
  return make(
    "ul",
    { class: "queries" },
    record.queries.map((query) =>
      make(
        "li",
        {},
        changed.has(query.text)
          ? make("mark", { class: "changed" }, query.text)
          : make("span", {}, query.text),
        !single &&
          make(
            "span",
            { class: "weight", title: "weight of this query" },
            `\u00d7 ${Number(query.weight?.toFixed(3))}${describeSearch(query)}`,
          ),
        query.text === record.original_query && make("span", { class: "note" }, "as it was asked"),
      ),
    ),
  );
}

/** Show the searches of a turn, and why there were no more; null if there was only one. */
export function renderSearches(record) {
  const { steps = [], why = "" } = record.trace?.search ?? {};
  if (steps.length < 2 && !why) return null;
  const rows = steps.map((step, n) =>
    make(
      "li",
      {},
      `${n + 1}. ${[...new Set(step.queries)].join("; ")} `,
      make(
        "span",
        { class: "note" },
        `${step.found ?? "none"} found${step.missing ? `; missing: ${step.missing}` : ""}`,
      ),
    ),
  );
  return make(
    "div",
    {},
    make("ol", { class: "queries" }, rows),
    why &&
      make("p", { class: "note" }, `${steps.length ? "No further search" : "No search"}: ${why}`),
  );
}

/** Describe the passages that retriever=carry has carried: [{ id, name, note }]. */
export function describeCarried(record) {
  const carried = record.trace?.retriever?.carried;
  if (!Array.isArray(carried)) return [];
  const ranks = new Map((record.contexts ?? []).map((hit, index) => [hit.id, index + 1]));
  const known = carried.filter((each) => typeof each?.id === "string");
  return known.map(({ id, name, number }) => ({
    id,
    name: String(name ?? id),
    note: `turn ${number}, ${ranks.has(id) ? `rank ${ranks.get(id)}` : "not among the best"}`,
  }));
}

/** Show why the rewriter chose these queries: its gate, the selected history, its other notes. */
export function renderWhy(record) {
  const noted = Object.entries(record.trace?.rewriter ?? {}).filter(
    ([key, value]) => !HIDDEN.has(key) && value !== null && value !== "",
  );
  if (!noted.length)
    return make("p", { class: "note" }, "The rewriter noted nothing about this turn.");
  return renderData(Object.fromEntries(noted));
}
