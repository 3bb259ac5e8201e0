/** The passages of a turn: rank, score, relevance, citations, text with marked sentences. */

import { listStatements, markSpans } from "./answer.js";
import { renderData } from "./data.js";
import { make, makeLink } from "./dom.js";
import { countOf, formatCount, formatScore } from "./format.js";
import { getName } from "./names.js";
import { numberPassages } from "./numbering.js";
import { describeCarried } from "./queries.js";
import { findCitedSpans } from "./support.js";

const PREVIEW = 160; // characters

/**
 * Show the retrieved passages, others that the model saw or the answer cites, and relevant ones
 * that were missed.
 *
 * `known` gives the texts of passages that are not in the record: Map id -> { title, text, url }.
 * `changes` are Maps id -> words on what differs from another run ("new", "was 3").
 * Returns { element, open(id) }; `open` unfolds a passage and goes there.
 */
export function renderPassages(record, { known = new Map(), changes = new Map() } = {}) {
  const items = new Map();
  const evidence = new Map((record.evidence ?? []).map((item) => [item.id, item]));
  const numbers = new Map([...numberPassages(record)].map(([number, id]) => [id, number]));
  const statements = statementsById(record);
  const gold = record.gold ?? {};
  const carried = new Set(describeCarried(record).map((each) => each.id));
  const show = (passage, rank, missedRank) => {
    const element = renderPassage(passage, {
      rank,
      missedRank,
      grade: gold[passage.id],
      evidence: evidence.get(passage.id),
      number: numbers.get(passage.id),
      cited: statements.has(passage.id),
      spans: findCitedSpans(
        record,
        passage.id,
        passage.text ?? "",
        statements.get(passage.id) ?? [],
      ).spans,
      change: changes.get(passage.id),
      carried: carried.has(passage.id),
    });
    items.set(passage.id, element);
    return make("li", {}, element);
  };
  const hits = record.contexts ?? [];
  const retrieved = new Set(hits.map((hit) => hit.id));
  const others = [...evidence.values()].filter((item) => !retrieved.has(item.id));
  const earlier = [...statements.keys()].filter((id) => !retrieved.has(id) && !evidence.has(id));
  const absent = Object.keys(gold).filter((id) => gold[id] > 0 && !retrieved.has(id));
  const element = make(
    "div",
    { class: "passages" },
    make("p", { class: "note" }, describePassages(record, gold, absent)),
    make(
      "ol",
      {},
      hits.map((hit, index) => show(hit, index + 1)),
    ),
    others.length > 0 && [
      make("h4", {}, "Shown, but not retrieved in this turn"),
      make(
        "ol",
        {},
        others.map((item) => show(item, null)),
      ),
    ],
    earlier.length > 0 && [
      make("h4", {}, "Cited, but shown in an earlier turn only"),
      make(
        "ol",
        {},
        earlier.map((id) => show({ id, ...known.get(id) }, null)),
      ),
    ],
    absent.length > 0 && [
      make("h4", {}, "Missed: relevant, but not retrieved"),
      make(
        "ul",
        { class: "missed" },
        absent.map((id) => show({ id, ...known.get(id) }, null, findMissedRank(record, id))),
      ),
    ],
  );
  const open = (id) => {
    const item = items.get(id);
    if (!item) return;
    item.open = true;
    item.scrollIntoView({ block: "nearest" });
    item.querySelector("summary").focus();
  };
  return { element, open };
}

/** Show one passage, which unfolds to its text. */
function renderPassage(
  passage,
  { rank, missedRank, grade, evidence, number, cited, spans, change, carried },
) {
  const text = passage.text ?? "";
  const body = make("div", { class: "passage-text" });
  body.append(
    ...(text
      ? markSpans(text, 0, text.length, spans, { class: "cited" })
      : [make("p", { class: "note" }, explainMissingText(passage))]),
  );
  return make(
    "details",
    { class: `passage${grade > 0 ? " gold" : ""}` },
    make(
      "summary",
      {},
      make("span", { class: "rank" }, rank ? String(rank) : "\u2013"),
      make("span", { class: "title" }, getName(passage) || passage.id),
      make("span", { class: "score-of" }, formatScore(passage.score)),
      make(
        "span",
        { class: "chips" },
        grade > 0 &&
          chip(
            rank ? "gold" : "missed",
            rank ? "\u2713 relevant" : missedRank || "missed",
            `grade ${grade}`,
            grade > 1 && String(grade),
          ),
        grade !== undefined &&
          grade <= 0 &&
          chip("not-gold", "judged not relevant", `grade ${grade}`),
        cited && chip("cited", `cited as ${number}`),
        evidence && chip("shown", `${evidence.hint ? "hint" : "shown"} as ${number}`),
        carried && chip("carried", "carried", "an answer before this one cites it"),
        change && chip("changed", change),
      ),
      make("span", { class: "preview" }, text.slice(0, PREVIEW)),
    ),
    body,
    make(
      "p",
      { class: "source" },
      make("code", {}, passage.id),
      passage.url && makeLink(passage.url, passage.url),
    ),
    passage.metadata && Object.keys(passage.metadata).length > 0 && renderData(passage.metadata),
  );
}

/** The rank at which the retriever has a missed passage for the turn's queries, if it is known. */
function findMissedRank(record, id) {
  const rank = record.trace?.retriever?.missed_ranks?.[id];
  if (rank === undefined) return "";
  return rank === null ? "missed, not among the first 1,000" : `missed, rank ${formatCount(rank)}`;
}

/** A short word on a coloured ground. */
export function chip(kind, text, title = "", more = "") {
  return make("span", { class: `chip ${kind}`, title }, text, more && make("b", {}, ` ${more}`));
}

function describePassages(record, gold, absent) {
  const hits = record.contexts ?? [];
  const relevant = Object.values(gold).filter((grade) => grade > 0).length;
  const hints = (record.evidence ?? []).filter((item) => item.hint).length;
  const shown = (record.evidence ?? []).length;
  const parts = [`${countOf(hits.length, "passage")} retrieved`];
  if (relevant) {
    parts.push(`${relevant - absent.length} of ${countOf(relevant, "relevant one")} among them`);
  }
  parts.push(`${shown || "none"} shown to the model`);
  if (hints) parts.push(`${hints} of them as ${hints === 1 ? "a hint" : "hints"}`);
  return parts.join(", ");
}

function explainMissingText(passage) {
  return passage.leftOut
    ? "The text was left out of this file to keep it small; intermediate/ has it."
    : "The text of this passage is not known here.";
}

/** The statements of the answer that cite each passage: Map id -> [statement]. */
function statementsById(record) {
  const ids = numberPassages(record);
  const found = new Map();
  for (const [number, statements] of listStatements(record.agent_response ?? "")) {
    const id = ids.get(number);
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), ...statements]);
  }
  return found;
}
