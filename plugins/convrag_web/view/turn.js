/** One turn in full: its question, history, queries, passages, prompt, answer and scores. */

import { renderAnswer } from "./answer.js";
import { renderCosts, sumTimes, sumUsage } from "./costs.js";
import { formatPlain, formatKey, renderData } from "./data.js";
import { renderDecision } from "./decision.js";
import { make, makeFold } from "./dom.js";
import { countOf, formatCost, formatSeconds } from "./format.js";
import { getName } from "./names.js";
import { numberPassages } from "./numbering.js";
import { renderPassages } from "./passages.js";
import { renderQueries, renderSearches, renderWhy } from "./queries.js";
import { renderScores } from "./scores.js";
import { renderEvidence, renderHistory, renderPrompt } from "./sent.js";

/**
 * Show a turn.
 *
 * @param record a record of a turn, as a line of intermediate/ holds it. One of a turn in progress
 *     may lack most of it.
 * @param options
 *   scores: measure -> value; measures: those of them to show first, in this order; otherScores:
 *     those of another run;
 *   shares: Set of the measures that lie between 0 and 1;
 *   history: the turns that this one saw, [{ question, answer }];
 *   known: Map id -> { title, text, url } of passages beside those of the record: missed ones,
 *     cited ones of earlier turns;
 *   changes: what differs from another run, { queries: Set, passages: Map, answer: [[start, end]]
 *     };
 *   onCite(number, id, statement): what a click on a citation does, after the passage has opened;
 *   heading: whether the question and the labels stand above;
 *   marks: an element that stands below the answer.
 * @returns HTMLElement
 */
export function renderTurn(record, options = {}) {
  const {
    scores = {},
    measures,
    shares,
    otherScores = null,
    history = [],
    known = new Map(),
    changes = {},
    onCite = () => {},
    heading = true,
    marks = null,
  } = options;
  const numbered = numberPassages(record);
  const titles = new Map([
    ...known,
    ...[...(record.evidence ?? []), ...(record.contexts ?? [])].map((each) => [each.id, each]),
  ]);
  const passages = renderPassages(record, { known, changes: changes.passages });
  const cite = (number, statement) => {
    const id = numbered.get(number);
    passages.open(id);
    onCite(number, id, statement);
  };
  const answer = renderAnswer(record.agent_response ?? "", {
    known: new Set(numbered.keys()),
    titles: new Map([...numbered].map(([number, id]) => [number, getName(titles.get(id) ?? {})])),
    onCite: cite,
    changed: changes.answer,
    unsupported: record.unsupported,
  });
  return make(
    "article",
    { class: "turn", "aria-label": `Turn ${record.turn}: ${record.original_query}` },
    heading && renderHead(record),
    renderTroubles(record),
    history.length > 0 &&
      section(
        "",
        makeFold(
          `History that was seen: ${countOf(history.length, "turn")}`,
          {},
          renderHistory(history),
        ),
      ),
    make(
      "div",
      { class: "answers" },
      section("Answer", record.agent_response ? answer : make("p", { class: "note" }, "no answer")),
      record.reference &&
        section("Reference answer", make("div", { class: "answer reference" }, record.reference)),
    ),
    marks,
    section("Whether to answer", renderDecision(record)),
    renderAllScores(scores, measures, { others: otherScores, shares }),
    section(
      "Queries",
      renderSearches(record) ?? renderQueries(record, changes.queries),
      record.queries?.length > 0 && makeFold("Why this query", {}, renderWhy(record)),
    ),
    (record.contexts || record.evidence) && section("Passages", passages.element),
    section(
      "Sent to the model",
      record.evidence?.length > 0 &&
        makeFold(
          `Evidence: ${countOf(record.evidence.length, "passage")}`,
          {},
          renderEvidence(record),
        ),
      record.prompt?.length > 0 &&
        makeFold(
          `Prompt: ${countOf(record.prompt.length, "message")}`,
          {},
          renderPrompt(record.prompt),
        ),
    ),
    section("Times and costs", renderTotals(record)),
    section(
      "",
      Object.keys(record.trace ?? {}).length > 0 &&
        makeFold("Trace of all stages", {}, renderData(record.trace)),
    ),
  );
}

/** Show the question of a turn, its place and its labels. */
export function renderHead(record) {
  const labels = Object.entries(record.labels ?? {}).filter(
    ([, value]) => value !== null && value !== "",
  );
  return make(
    "header",
    {},
    make(
      "p",
      { class: "place" },
      `Turn ${record.turn} of `,
      make("code", {}, record.conversation_id),
      record.domain !== "default" && ` in ${record.domain}`,
    ),
    make("h2", { class: "question" }, record.original_query),
    make(
      "p",
      { class: "chips" },
      labels.map(([name, value]) =>
        make(
          "span",
          { class: "chip" },
          make("span", { class: "key" }, `${formatKey(name)} `),
          [value].flat().map(formatPlain).join(", "),
        ),
      ),
    ),
  );
}

function renderTroubles(record) {
  return [
    record.error &&
      make("p", { class: "trouble failed" }, make("b", {}, "This turn failed. "), record.error),
    Object.entries(record.fallbacks ?? {}).map(([stage, reason]) =>
      make("p", { class: "trouble" }, make("b", {}, `The ${stage} fell back. `), reason),
    ),
  ];
}

function renderAllScores(scores, measures, options) {
  const names = Object.keys(scores);
  const first = measures ? measures.filter((name) => names.includes(name)) : names;
  const rest = names.filter((name) => !first.includes(name));
  if (!names.length) return null;
  return section(
    "Scores",
    renderScores(scores, { ...options, measures: first }),
    rest.length > 0 &&
      makeFold(
        `Counts behind scores: ${rest.length}`,
        {},
        renderScores(scores, { ...options, measures: rest }),
      ),
  );
}

function renderTotals(record) {
  const table = renderCosts(record);
  if (!table) return null;
  const usage = sumUsage(record);
  const made = usage.calls ? countOf(usage.calls, "call") : "no calls";
  const reused = usage.reused ? `, ${usage.reused} reused` : "";
  return makeFold(
    `${formatSeconds(sumTimes(record))}, ${made}${reused}, ${formatCost(usage.cost_usd)}`,
    {},
    table,
  );
}

function section(title, ...children) {
  const shown = children.flat().filter(Boolean);
  return shown.length > 0 && make("section", {}, title && make("h3", {}, title), shown);
}
