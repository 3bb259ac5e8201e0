/** Shows a passage, with the sentences marked that the answer rests on. */

import { listStatements, markSpans } from "../view/answer.js";
import { make, makeLink } from "../view/dom.js";
import { getAddress, getPlace } from "../view/names.js";
import { findCitedSpans } from "../view/support.js";
import { readDocument } from "./api.js";
import { button } from "./controls.js";
import { makeNotice } from "./notices.js";
import { Sheet } from "./sheet.js";
import { nameSource } from "./sources.js";

export class PassagePanel {
  /**
   * @param {(source: import("./sources.js").Source, conversationId: string, spans: number[][]) =>
   *     void} openDocument
   */
  constructor(openDocument) {
    this.openDocument = openDocument;
    this.sheet = new Sheet("Passage");
    this.element = this.sheet.dialog;
  }

  /**
   * @param {import("./sources.js").Source} source
   * @param {Object} record of the turn whose answer cites it
   * @param {string} [conversationId] in which the server keeps the turn; none while it is in
   *     progress
   */
  open(source, record, conversationId) {
    const statements = [...new Set(listStatements(record.agent_response ?? "").get(source.number))];
    const { spans, named } = findCitedSpans(record, source.id, source.text, statements);
    const title = make(
      "h2",
      { tabindex: "-1" },
      make("span", { class: "number" }, String(source.number)),
      nameSource(source),
    );
    const parts = markSpans(source.text, 0, source.text.length, spans, { class: "cited" });
    const text = make("div", { class: "passage-text" }, ...parts);
    const whole =
      conversationId &&
      getPlace(source) &&
      button("Open the document", () => this.openDocument(source, conversationId, spans), {
        icon: "document",
      });
    this.sheet.open(
      title,
      ...describe(source),
      text,
      whole,
      ...showStatements(source, statements, explainMarks(spans, named)),
      ...showSeen(source),
    );
    text.querySelector("mark")?.scrollIntoView({ block: "nearest" });
    if (whole) this.checkDocument(source, conversationId, whole);
  }

  /** Says so if the document of a passage is gone, or has changed since it was cited. */
  async checkDocument(source, conversationId, opener) {
    const shown = await readDocument(conversationId, source.id).catch((error) => error);
    if (shown.status === 404)
      opener.replaceWith(
        makeNotice("The document is no longer there. This is what it said when it was cited."),
      );
    else if (shown.passage === null)
      opener.before(
        makeNotice("The document has changed. This is what it said when it was cited."),
      );
  }

  close() {
    this.sheet.close();
  }
}

function describe(source) {
  const found = source.rank
    ? `rank ${source.rank}, score ${source.score.toPrecision(3)}`
    : "found in an earlier turn";
  const link =
    source.url &&
    make(
      "p",
      { class: "passage-url" },
      makeLink(getAddress(source.url, source.metadata?.page), source.url),
    );
  return [
    make(
      "p",
      { class: "hint" },
      [getPlace(source) ? source.title : source.id, found].filter(Boolean).join(" · "),
    ),
    link,
  ];
}

function explainMarks(spans, named) {
  if (named) return "Marked is what the answer was made of.";
  return spans.length
    ? ""
    : "No sentence of the passage has enough words in common with the answer to be marked.";
}

function showStatements(source, statements, note) {
  if (!source.cited)
    return [make("p", { class: "hint" }, "The answer does not cite this passage.")];
  if (!statements.length) return [];
  const quotes = statements.map((statement) => make("li", {}, statement));
  return [
    note && make("p", { class: "hint" }, note),
    make("h3", {}, "Cited for"),
    make("ul", { class: "claims" }, ...quotes),
  ];
}

function showSeen(source) {
  if (source.hint) {
    return [
      make(
        "p",
        { class: "hint" },
        "The model saw a pointer to this passage, whose text stands in an earlier message.",
      ),
    ];
  }
  if (source.shown === undefined || source.shown.endsWith(source.text)) return [];
  return [
    make(
      "details",
      {},
      make("summary", {}, "As the model saw it"),
      make("p", { class: "passage-text" }, source.shown),
    ),
  ];
}
