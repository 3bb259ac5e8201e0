/** The view of a whole turn, which reports show as well (view/turn.js). */

import { make } from "../view/dom.js";
import { button, fill } from "./controls.js";

export class Inside {
  constructor() {
    const close = button("Close", () => this.element.close(), { icon: "close", iconOnly: true, class: "button close" });
    this.body = make("div", { class: "inside-body" });
    this.element = make("dialog", { class: "inside", "aria-label": "Inside this turn" }, close, this.body);
  }

  /** @param {Object} record */
  async open(record) {
    this.element.showModal();
    try {
      const { renderTurn } = await import("../view/turn.js");
      fill(this.body, renderTurn(record, {}));
    } catch (error) {
      fill(this.body, make("p", {}, `The view of the turn cannot be shown: ${error.message}`));
    }
    this.element.scrollTop = 0;
  }
}
