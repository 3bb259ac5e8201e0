/** A panel beside the conversation; on a narrow screen it covers the page. Escape closes it. */

import { make } from "../view/dom.js";
import { button, fill } from "./controls.js";

const NARROW = matchMedia("(max-width: 60rem)");

export class Sheet {
  /** @param {string} name an accessible name, and the class of the panel */
  constructor(name) {
    this.body = make("div", { class: "sheet-body" });
    this.dialog = make("dialog", { class: "sheet", "aria-label": name });
    this.dialog.append(
      button("Close", () => this.close(), { icon: "close", iconOnly: true, class: "button close" }),
      this.body,
    );
    // Not on "close": that event comes later, and would take the focus from where the reader has
    // gone meanwhile.
    this.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.close();
    });
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && this.dialog.open && !document.querySelector("dialog:modal"))
        this.close();
    });
    NARROW.addEventListener("change", () => this.close());
  }

  /** Shows content. Its first heading takes the focus, which returns when the panel closes. */
  open(...content) {
    if (!this.dialog.contains(document.activeElement)) this.opener = document.activeElement;
    fill(this.body, ...content);
    if (!this.dialog.open) {
      if (NARROW.matches) this.dialog.showModal();
      else this.dialog.show();
    }
    this.dialog.scrollTop = 0;
    this.body.querySelector("h2")?.focus();
  }

  close() {
    if (!this.dialog.open) return;
    this.dialog.close();
    if (this.opener?.isConnected) this.opener.focus({ preventScroll: true });
    this.opener = null;
  }
}
