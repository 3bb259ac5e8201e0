/** The query: shown as soon as the rewriter has it, explained, and editable. */

import { make } from "../view/dom.js";
import { button, fill, icon } from "./controls.js";
import { explainQuery, groupQueries, shorten } from "./why_query.js";

export class QueryLine {
  /**
   * @param {(query: string) => void} search answers the question again from what is found for
   *     another query
   */
  constructor(search) {
    this.search = search;
    this.words = make("span", { class: "query-words" });
    this.edit = button("Edit the query", () => this.openEditor(), { icon: "edit", iconOnly: true });
    this.shown = make("p", { class: "query" }, icon("search"), this.words, this.edit);
    this.why = make(
      "details",
      { class: "why" },
      make("summary", {}, "Why this query?"),
      make("div", { class: "why-body" }),
    );
    this.element = make("div", { class: "query-line", hidden: true }, this.shown, this.why);
  }

  /** Shows the query of a record, which may be of a turn in progress. */
  show(record, earlier) {
    this.query = record.rewritten_query;
    const others = groupQueries(record.queries ?? []).size - 1;
    const more = others > 0 && ` and ${others} more`;
    fill(
      this.words,
      "Searched for ",
      make("span", { class: "query-text", title: this.query }, shorten(this.query)),
      more,
    );
    fill(this.why.lastElementChild, ...explainQuery(record, earlier));
    this.why.hidden = !this.why.lastElementChild.hasChildNodes();
    this.element.hidden = !record.queries?.length;
  }

  clear() {
    this.element.hidden = true;
  }

  /** Only the query of the last question can be replaced. */
  setEditable(editable) {
    this.edit.hidden = !editable;
    if (!editable) this.closeEditor();
  }

  openEditor() {
    const input = make("textarea", { rows: "2", "aria-label": "Query to search for" });
    input.value = this.query;
    const submit = (event) => {
      event.preventDefault();
      const query = input.value.trim();
      if (!query) return;
      this.closeEditor();
      this.search(query);
    };
    this.editor = make(
      "form",
      { class: "query-editor", onsubmit: submit },
      input,
      make(
        "div",
        { class: "buttons" },
        make("button", { type: "submit", class: "button primary" }, "Search for this instead"),
        button("Cancel", () => this.closeEditor()),
      ),
    );
    this.editor.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing && event.target === input)
        submit(event);
      if (event.key !== "Escape") return;
      event.stopPropagation(); // a panel beside it stays open
      this.closeEditor();
    });
    this.shown.hidden = true;
    this.shown.after(this.editor);
    input.select();
    input.focus();
  }

  closeEditor() {
    if (!this.editor) return;
    const hadFocus = this.editor.contains(document.activeElement);
    this.editor.remove();
    this.editor = null;
    this.shown.hidden = false;
    if (hadFocus) this.edit.focus();
  }
}
