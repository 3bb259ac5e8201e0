/** What is happening while an answer is awaited. */

import { make } from "../view/dom.js";
import { countOf } from "../view/format.js";
import { fill } from "./controls.js";

const FIRST = "Working out what to search for";
const NEXT = {
  rewriter: () => "Searching",
  retriever: ({ contexts }) => `Ranking ${countOf(contexts.length, "passage")}`,
  reranker: () => "Choosing passages",
  context: ({ evidence }) => `Writing an answer from ${countOf(evidence.length, "passage")}`,
};

export class Status {
  /** @param {HTMLElement} answer that is marked as busy meanwhile */
  constructor(answer) {
    this.answer = answer;
    this.element = make("p", { class: "status", hidden: true });
  }

  start() {
    this.say(FIRST);
  }

  /**
   * Says what comes after a stage.
   * @param {string} stage that has ended
   * @param {Object} record of the turn so far
   */
  showNext(stage, record) {
    if (NEXT[stage]) this.say(NEXT[stage](record));
  }

  /** @param {number} seconds until a busy server is asked again */
  showBusy(seconds) {
    this.say(`The server is busy. It is asked again in ${countOf(seconds, "second")}`);
  }

  end() {
    this.say("");
  }

  say(text) {
    this.element.hidden = !text;
    fill(this.element, text && make("span", { class: "spinner" }), text && `${text} …`);
    this.answer.setAttribute("aria-busy", String(Boolean(text)));
  }
}
