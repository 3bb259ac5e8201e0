/** An answer with its numbered citations. */

import { makeFinder } from "./code_points.js";
import { make } from "./dom.js";
import { findSentences } from "./sentences.js";

// Code is matched first and stays as it is: `items[0]` cites nothing.
const CODE_OR_CITATION = /```[\s\S]*?```|`[^`\n]*`|\[\s*(\d{1,9}(?:\s*[,;]\s*\d{1,9})*)\s*\]/g;

/**
 * Find the citations in an answer.
 * Returns [{ start, end, numbers, statement }]; the statement is the sentence that the citation
 * stands at the end of.
 */
export function findCitations(answer) {
  const found = [];
  for (const match of answer.matchAll(CODE_OR_CITATION)) {
    if (match[1] === undefined) continue;
    const before = removeCitations(answer.slice(0, match.index));
    const last = findSentences(before).at(-1);
    found.push({
      start: match.index,
      end: match.index + match[0].length,
      numbers: match[1].split(/[,;]/).map(Number),
      statement: last ? before.slice(...last) : "",
    });
  }
  return found;
}

/** List the statements of an answer by the passage that they cite: Map number -> [statement]. */
export function listStatements(answer) {
  const statements = new Map();
  for (const { numbers, statement } of findCitations(answer)) {
    for (const number of numbers)
      statements.set(number, [...(statements.get(number) ?? []), statement]);
  }
  return statements;
}

/**
 * Show an answer. A number that a passage has is a button; what it does is `onCite(number,
 * statement)`. `changed` are spans of the answer to mark as different from another answer, as
 * [start, end]; `unsupported` those that the passages do not support, in code points.
 */
export function renderAnswer(
  answer,
  { known = new Set(), titles = new Map(), onCite = () => {}, changed = [], unsupported = [] } = {},
) {
  const find = makeFinder(answer);
  const marked = [
    ...changed,
    ...unsupported.map(([start, end]) => [find(start), find(end), UNSUPPORTED]),
  ];
  const element = make("div", { class: "answer" });
  let place = 0;
  for (const { start, end, numbers, statement } of findCitations(answer)) {
    element.append(...markSpans(answer, place, start, marked));
    element.append(
      ...numbers.map((number) => renderCitation(number, statement, known, titles, onCite)),
    );
    place = end;
  }
  element.append(...markSpans(answer, place, answer.length, marked));
  return element;
}

/** What marks a sentence that the passages do not support. */
export const UNSUPPORTED = {
  class: "unsupported",
  title: "The passages do not support this sentence, by the words in common.",
};

/** Mark spans in the text between two places: [start, end], or [start, end, attributes]. */
export function markSpans(text, start, end, spans, attributes = { class: "changed" }) {
  const parts = [];
  let place = start;
  for (const [from, to, own = attributes] of [...spans].sort((one, other) => one[0] - other[0])) {
    const first = Math.max(from, place);
    const last = Math.min(to, end);
    if (first >= last) continue;
    parts.push(text.slice(place, first), make("mark", own, text.slice(first, last)));
    place = last;
  }
  parts.push(text.slice(place, end));
  return make("span", {}, parts).childNodes;
}

function renderCitation(number, statement, known, titles, onCite) {
  if (!known.has(number))
    return make(
      "span",
      { class: "citation unknown", title: "No passage of this turn has this number." },
      `[${number}]`,
    );
  const title = titles.get(number) ?? "";
  const label = `Passage ${number}${title ? `: ${title}` : ""}`;
  return make(
    "button",
    {
      type: "button",
      class: "citation",
      title: label,
      "aria-label": label,
      onclick: () => onCite(number, statement),
    },
    String(number),
  );
}

function removeCitations(text) {
  return text
    .replace(CODE_OR_CITATION, (match, numbers) => (numbers === undefined ? match : ""))
    .trimEnd();
}
