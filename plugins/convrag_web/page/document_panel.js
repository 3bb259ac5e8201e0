/** Shows a whole document, scrolled to a passage of it, which is marked. */

import { makeFinder } from "../view/code_points.js";
import { make, makeLink } from "../view/dom.js";
import { getAddress } from "../view/names.js";
import { readDocument } from "./api.js";
import { button, fill } from "./controls.js";
import { renderDocumentText } from "./document_text.js";
import { makeNotice } from "./notices.js";

export class DocumentPanel {
  constructor() {
    const close = button("Close", () => this.element.close(), {
      icon: "close",
      iconOnly: true,
      class: "button close",
    });
    this.body = make("div", { class: "document-body" });
    this.element = make(
      "dialog",
      { class: "inside document", "aria-label": "Document" },
      close,
      this.body,
    );
    this.element.addEventListener("close", () => fill(this.body));
  }

  /**
   * @param {import("./sources.js").Source} source a passage
   * @param {string} conversationId in which it was found
   * @param {number[][]} cited the (start, end) of its sentences that an answer rests on; none marks
   *     all of it
   */
  async open(source, conversationId, cited = []) {
    const wanted = make("p", { class: "hint", role: "status" }, "Loading …");
    fill(this.body, wanted);
    this.element.showModal();
    let parts;
    try {
      parts = renderDocument(await readDocument(conversationId, source.id), cited);
    } catch (error) {
      parts = [make("h2", {}, "The document cannot be shown"), makeNotice(error.message)];
    }
    if (!wanted.isConnected) return; // it was closed, or another one is wanted
    fill(this.body, ...parts);
    const mark = this.body.querySelector("mark");
    if (mark) mark.tabIndex = -1;
    (mark ?? this.element).focus({ preventScroll: true });
    if (mark) mark.scrollIntoView({ block: "start" });
    else this.element.scrollTop = 0;
  }
}

/** The number of the page on which the first mark begins; none where the document has no pages. */
function findPage({ text, pages, passage }, cited) {
  if (!passage || !pages.length) return undefined;
  const find = makeFinder(text);
  const start =
    find(passage.start) + Math.min(...(cited.length ? cited.map(([each]) => each) : [0]));
  return pages.findLast((page) => find(page.start) <= start)?.number;
}

/** A link to the file of a document, at a page. Browsers ignore the page of what is no PDF. */
function makeFileLink(address, page) {
  const href = page ? `${address}#page=${page}` : address;
  return make("a", { href, rel: "noopener", target: "_blank" }, "Open the file");
}

function renderDocument(shown, cited) {
  const { id, title, url, first, last, length, passage, original } = shown;
  const page = findPage(shown, cited);
  const cut =
    last - first < length &&
    `Characters ${first.toLocaleString()} to ${last.toLocaleString()} of ` +
      `${length.toLocaleString()} are shown.`;
  return [
    make(
      "header",
      { class: "document-head" },
      make("h2", {}, title || id.split("/").at(-1)),
      make(
        "p",
        { class: "hint" },
        id,
        page && `, ${shown.page_name} ${page}`,
        url && [" · ", makeLink(getAddress(url, page), url)],
        original && [" · ", makeFileLink(original, shown.page_name === "page" ? page : undefined)],
      ),
    ),
    !passage &&
      makeNotice("The passage is not marked: the document has changed since it was found."),
    cut && makeNotice(cut),
    make("div", { class: "document-text" }, ...renderDocumentText({ ...shown, cited })),
  ];
}
