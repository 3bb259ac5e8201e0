/** The field for questions. Enter sends, Shift+Enter begins a new line. */

import { make } from "../view/dom.js";
import { button } from "./controls.js";

export class Composer {
  /**
   * @param {(question: string) => void} ask
   * @param {() => void} stop
   */
  constructor(ask, stop) {
    this.ask = ask;
    this.running = true; // nothing can be asked before `setRunning(false)`
    const label = make("label", { for: "question", class: "visually-hidden" }, "Question");
    this.input = make("textarea", {
      id: "question",
      rows: "1",
      placeholder: "Ask a question",
      enterkeyhint: "send",
    });
    this.send = button("Send", () => this.submit(), {
      icon: "send",
      iconOnly: true,
      class: "button primary round",
    });
    this.stop = button("Stop", stop, {
      icon: "stop",
      iconOnly: true,
      class: "button primary round stop",
      hidden: true,
    });
    this.input.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.submit();
    });
    this.frame = make("div", { class: "composer-frame" }, label, this.input, this.send, this.stop);
    this.hint = make("p", { class: "hint keys" });
    this.element = make(
      "section",
      { class: "composer", "aria-label": "Ask" },
      this.frame,
      this.hint,
    );
  }

  /** Shows a button that stops an answer while it is written; the next question can be typed. */
  setRunning(running) {
    const hadFocus = [this.send, this.stop].includes(document.activeElement);
    this.running = running;
    this.send.hidden = running;
    this.stop.hidden = !running;
    if (hadFocus) this.focus();
  }

  /**
   * Closes the field under a conversation with other documents or settings, which can only be read.
   */
  setOpen(open) {
    this.frame.hidden = !open;
    this.hint.classList.toggle("keys", open);
    this.hint.textContent = open
      ? "Enter sends, Shift+Enter begins a new line, Escape stops"
      : "This conversation was begun with other documents or settings: it can be read here, " +
        "not gone on with.";
  }

  /** Takes the focus, but not where that would bring up a keyboard on the screen. */
  focus() {
    if (matchMedia("(pointer: fine)").matches) this.input.focus({ preventScroll: true });
  }

  submit() {
    const question = this.input.value.trim();
    if (!question || this.running) return;
    this.input.value = "";
    this.ask(question);
  }
}
