/** A line across the page for what concerns all of it: the server is away, or a request failed. */

import { make } from "../view/dom.js";
import { connection } from "./connection.js";
import { button, fill, icon } from "./controls.js";

export class Banner {
  /** @param {() => void} whenBack is called when the server answers again */
  constructor(whenBack) {
    this.element = make("div", { class: "banner", role: "alert", hidden: true });
    connection.addEventListener("lost", () => {
      this.show("The server does not answer. The page tries again by itself.");
      this.lost = true;
    });
    connection.addEventListener("back", () => {
      this.lost = false;
      this.hide();
      whenBack();
    });
  }

  show(text) {
    this.element.hidden = false;
    fill(
      this.element,
      icon("alert"),
      make("span", {}, text),
      button("Hide", () => this.hide(), { icon: "close", iconOnly: true }),
    );
  }

  /** Hides what is no longer of interest; that the server is away, stays. */
  clear() {
    if (!this.lost) this.hide();
  }

  hide() {
    this.element.hidden = true;
  }
}
