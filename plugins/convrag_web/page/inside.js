/** The view of a whole turn, which reports show as well (view/turn.js). */

import { make } from "../view/dom.js";
import { renderTurn } from "../view/turn.js";
import { button, fill } from "./controls.js";
import { listSources } from "./sources.js";

export class Inside {
  constructor() {
    const close = button("Close", () => this.element.close(), {
      icon: "close",
      iconOnly: true,
      class: "button close",
    });
    this.body = make("div", { class: "inside-body" });
    this.element = make(
      "dialog",
      { class: "inside", "aria-label": "Inside this turn" },
      close,
      this.body,
    );
  }

  /**
   * @param {Object} record
   * @param {Object[]} earlier records of the turns before it, whose passages the answer may cite
   */
  open(record, earlier) {
    const known = new Map(listSources(record, earlier).map((source) => [source.id, source]));
    fill(this.body, renderTurn(record, { known }));
    this.element.showModal();
    this.element.scrollTop = 0;
  }
}
