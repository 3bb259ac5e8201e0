/** Explains a query: the rewriter's decision, the turns that it used, and the weights. */

import { make } from "../view/dom.js";
import { describeCarried, describeSearch, renderSearches } from "../view/queries.js";

const REASONS = {
  pronoun: "it has a pronoun",
  ellipsis: "it leaves something out",
  comparison: "it compares",
  short: "it is short",
  first_turn: "it is the first question",
  standalone: "it is complete by itself",
};
const HIDDEN = new Set([
  "prompt",
  "system",
  "gate",
  "condense",
  "reasons",
  "selected",
  "edited",
  "selected_sentences",
  "reasoning",
]);
const LONGEST = 120; // characters of an entry that is shown, and of a quoted phrase

/**
 * @param {Object} record of the turn so far
 * @param {Object[]} earlier records of the turns before it
 * @returns {HTMLElement[]}
 */
export function explainQuery(record, earlier) {
  const trace = record.trace?.rewriter ?? {};
  return [
    ...sayDecision(record, trace).map((sentence) => make("p", {}, sentence)),
    ...Object.entries(record.trace?.retriever?.read_as ?? {}).map(([word, near]) =>
      make("p", {}, `No passage has the word ${word}: ${near} was searched for.`),
    ),
    ...showCarried(record),
    ...[renderSearches(record)].filter(Boolean),
    // Each search has its own
    ...(record.trace?.search?.steps?.length > 1 ? [] : showQueries(record.queries ?? [])),
    ...showLinks(trace, earlier),
    ...showSelected(trace, earlier),
    ...showEntries(trace),
  ];
}

function sayDecision(record, trace) {
  if (trace.edited) return ["You chose this query."];
  const sentences = [];
  const reasons = (Array.isArray(trace.reasons) ? trace.reasons : []).filter(
    (reason) => typeof reason === "string",
  );
  const because = reasons.length
    ? ` (${reasons.map((reason) => REASONS[reason] ?? reason).join(", ")})`
    : "";
  if (trace.condense === true)
    sentences.push(`The gate found that the question depends on the conversation${because}.`);
  if (trace.condense === false)
    sentences.push(`The gate let the question through as it is${because}.`);
  if (record.fallbacks?.rewriter)
    sentences.push(`The rewriter fell back to the question: ${record.fallbacks.rewriter}`);
  if (!sentences.length && record.rewritten_query === record.original_query)
    sentences.push("The question itself is the query.");
  return sentences;
}

function showQueries(queries) {
  if (queries.length < 2) return [];
  const rows = [...groupQueries(queries)].map(([text, notes]) =>
    makeRow(notes.join("; "), shorten(text)),
  );
  return [make("h4", {}, "Queries and their weights"), make("ul", { class: "plain" }, ...rows)];
}

/** Groups queries by their text: Map text -> notes such as "× 0.5, for words, from mmr". */
export function groupQueries(queries) {
  const notes = new Map();
  for (const query of queries) {
    const note = `× ${round(query.weight)}${describeSearch(query)}`;
    notes.set(query.text, [...(notes.get(query.text) ?? []), note]);
  }
  return notes;
}

/** Shows the passages that retriever=carry has carried from earlier turns. */
function showCarried(record) {
  const rows = describeCarried(record).map(({ note, name }) => makeRow(note, shorten(name)));
  return rows.length
    ? [make("h4", {}, "Carried from earlier turns"), make("ul", { class: "plain" }, ...rows)]
    : [];
}

/**
 * Shows what rewriter=resolve linked each reference of the question to, and the turn that names it.
 */
function showLinks(trace, earlier) {
  const rows = findLinks(trace)
    .filter((link) => typeof link?.antecedent === "string")
    .map((link) => {
      const turn = earlier.find((each) => each.turn_id === link.turn)?.turn ?? link.turn ?? "?";
      return makeRow(
        `turn ${turn}`,
        `${quote(link.phrase)} is ${quote(link.antecedent)} (${link.kind}: ${link.rule})`,
      );
    });
  return rows.length
    ? [make("h4", {}, "References to what was said"), make("ul", { class: "plain" }, ...rows)]
    : [];
}

/** The links of the rewriter, or of those that an ensemble asks. */
function findLinks(trace) {
  const traces = [trace, ...Object.values(trace.of ?? {}).map((each) => each?.trace)];
  return traces.flatMap((each) => list(each?.links));
}

/** Shows the turns, with their scores if there are any, or the sentences that the rewriter used. */
function showSelected(trace, earlier) {
  const scores = new Map(
    (Array.isArray(trace.reasons) ? trace.reasons : []).map((row) => [row?.turn_id, row?.score]),
  );
  const turns = list(trace.selected)
    .filter((id) => typeof id === "string")
    .map((id) => {
      const turn = earlier.find((each) => each.turn_id === id);
      const score = scores.get(id);
      return makeRow(
        typeof score === "number" ? round(score) : "",
        turn ? `Turn ${turn.turn}: ${turn.original_query}` : id,
      );
    });
  const sentences = list(trace.selected_sentences)
    .filter((it) => typeof it?.sentence === "string")
    .map((it) =>
      makeRow(`turn ${it.turn}, ${it.speaker === "user" ? "you" : "answer"}`, it.sentence),
    );
  const rows = [...turns, ...sentences];
  return rows.length
    ? [make("h4", {}, "Taken from the conversation"), make("ul", { class: "plain" }, ...rows)]
    : [];
}

/** The trace's other short entries: words and numbers. */
function showEntries(trace) {
  const rows = Object.entries(trace)
    .filter(
      ([name, entry]) =>
        !HIDDEN.has(name) && ["string", "number", "boolean"].includes(typeof entry),
    )
    .filter(([, entry]) => entry !== "" && String(entry).length <= LONGEST)
    .flatMap(([name, entry]) => [
      make("dt", {}, name.replaceAll("_", " ")),
      make("dd", {}, String(entry)),
    ]);
  return rows.length ? [make("dl", {}, ...rows)] : [];
}

const makeRow = (note, text) =>
  make("li", {}, make("span", { class: "weight" }, note), make("span", {}, text));
export const shorten = (text) =>
  String(text).length <= LONGEST ? String(text) : `${String(text).slice(0, LONGEST)} …`;
const quote = (text) => `“${shorten(text)}”`;
const list = (entry) => (Array.isArray(entry) ? entry : []);
const round = (number) => String(Math.round(number * 1000) / 1000);
