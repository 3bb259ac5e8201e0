/** One answer: the query, what is happening, the text as it comes, and afterwards its sources and actions. */

import { make } from "../view/dom.js";
import { announce } from "./announce.js";
import { renderActions, renderSources } from "./answer_footer.js";
import { ConnectionLost } from "./api.js";
import { cutUnfinishedCitation, linkCitations } from "./citations.js";
import { fill } from "./controls.js";
import { renderMarkdown } from "./markdown.js";
import { makeFailure, makeNotice } from "./notices.js";
import { QueryLine } from "./query_line.js";
import { listSources } from "./sources.js";
import { Status } from "./status.js";
import { runTurn } from "./turn_request.js";

export class AnswerView {
  /**
   * @param {import("./conversation.js").Conversation} conversation
   * @param {string} question
   * @param {{place: number, label?: string, openPassage: Function, openInside: Function, onChange: Function}} options
   *     place: of the turn in the conversation's records; label: names the configuration where two are compared;
   *     onChange: is called when a turn begins, when its conversation has an id, and when it has ended
   */
  constructor(conversation, question, options) {
    this.conversation = conversation;
    this.question = question;
    this.options = options;
    this.queryLine = new QueryLine((query) => this.run({ query }));
    this.text = make("div", { class: "text" });
    this.notices = make("div", { class: "notices" });
    this.sources = make("div", { class: "all-sources" });
    this.actions = make("div", { class: "actions" });
    this.name = options.label ? `Answer of ${options.label}` : "Answer";
    this.element = make("div", { class: "answer", role: "group", "aria-label": this.name, tabindex: "-1" });
    this.status = new Status(this.element);
    const heading = options.label ? [make("h3", { class: "label" }, options.label)] : [];
    const above = [...heading, this.queryLine.element, this.text, this.status.element];
    this.element.append(...above, this.notices, this.sources, this.actions);
  }

  get earlier() {
    return this.conversation.records.slice(0, this.options.place);
  }

  /** The record that the server keeps of this turn; none for a turn in progress, or one that was stopped. */
  get record() {
    return this.conversation.records[this.options.place];
  }

  /** Whether another window has continued the conversation: the server counts more turns. */
  get stale() {
    return Boolean(this.record) && this.record.turn !== this.options.place + 1;
  }

  get running() {
    return Boolean(this.controller);
  }

  /** Shows the record that the server keeps. */
  show() {
    const { record } = this;
    this.status.end();
    this.queryLine.show(record, this.earlier);
    this.written = record.agent_response;
    this.renderText(record);
    const fallbacks = Object.entries(record.fallbacks ?? {}).filter(([stage]) => stage !== "rewriter");
    fill(this.notices, ...fallbacks.map(([stage, reason]) => makeNotice(`The ${stage} fell back: ${reason}`)));
    if (record.error) this.addFailure("There is no answer to this question.", record.error);
    this.showFooter();
  }

  /** The last turn can be answered again. One that is not kept cannot, once another question was asked. */
  setLast(last) {
    this.last = last;
    if (!last && !this.record) {
      this.options.place = -1; // its place in the records is now that of the next turn
      for (const each of this.notices.querySelectorAll("button")) each.remove();
    }
    if (this.record && !this.running) this.showFooter();
    this.queryLine.setEditable(last);
  }

  /** Answers the question, or answers it again. A turn that is in progress gives way to this one. */
  async run({ query } = {}) {
    const again = Boolean(this.record);
    const controller = new AbortController();
    this.stop();
    this.controller = controller;
    this.startOver();
    this.options.onChange();
    try {
      if (!this.conversation.begun) {
        await this.conversation.begin();
        this.options.onChange();
      }
      const turn = { question: this.question, query, again };
      for await (const { event, data } of runTurn(this.conversation.info.id, turn, controller.signal)) {
        if (this.controller === controller) this.handle(event, data);
      }
    } catch (error) {
      if (this.controller === controller) this.fail(error, controller.signal.aborted);
    }
    if (this.controller !== controller) return; // another query took its place
    this.controller = null;
    this.setLast(this.last);
    this.options.onChange();
  }

  stop() {
    this.controller?.abort();
  }

  startOver() {
    const hadFocus = this.element.contains(document.activeElement);
    this.written = "";
    this.progress = {};
    this.queryLine.clear();
    for (const part of [this.text, this.notices, this.sources, this.actions]) fill(part);
    this.status.start();
    if (hadFocus) this.element.focus({ preventScroll: true });
  }

  handle(event, data) {
    if (event === "busy") {
      this.status.showBusy(data);
    } else if (event === "stage") {
      this.progress = { ...this.progress, ...data.record };
      this.queryLine.show(this.progress, this.earlier);
      this.queryLine.setEditable(true);
      this.status.showNext(data.stage, this.progress);
    } else if (event === "piece") {
      this.written += data.text;
      this.renderSoon();
    } else if (event === "record") {
      this.finish(data);
    }
  }

  finish(record) {
    const stays = record.error && this.record && !this.record.error;
    if (!stays) this.conversation.records[this.options.place] = record;
    this.show();
    if (stays) this.addFailure("There was no new answer; the former one stays.", record.error);
    announce(record.error ? `There is no answer: ${record.error}` : `${this.name}: ${this.text.textContent}`);
  }

  fail(error, stopped) {
    this.status.end();
    fill(this.notices);
    if (this.record) this.show();
    const kept = this.record ? "The former answer stays." : "This turn is not kept.";
    const what = stopped ? `Stopped. ${kept}` : `There is no answer. ${kept}`;
    this.addFailure(what, stopped ? "" : error.message, error instanceof ConnectionLost);
    announce(stopped ? what : `${what} ${error.message}`);
  }

  addFailure(what, why, connectionLost = false) {
    this.notices.append(makeFailure(what, why, () => this.tryAgain(connectionLost)));
  }

  /** Asks again. After a lost connection the server may have kept the turn all the same; then that is shown. */
  async tryAgain(connectionLost) {
    const before = this.record;
    try {
      if (connectionLost && !before) await this.conversation.refresh();
    } catch (error) {
      this.fail(error, false);
      return;
    }
    if (this.record === before) {
      this.run();
    } else {
      this.show();
      this.setLast(this.last);
    }
  }

  renderSoon() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.running) this.renderText(this.progress);
    });
  }

  renderText(record) {
    const finished = record === this.record;
    const fragment = renderMarkdown(finished ? this.written : cutUnfinishedCitation(this.written));
    const sources = listSources(record, this.earlier);
    linkCitations(fragment, sources, (source) => this.options.openPassage(source, record, finished && this.conversation.info.id));
    fill(this.text, fragment);
  }

  showFooter() {
    const { record } = this;
    const { openPassage, openInside } = this.options;
    const again = this.last && !record.error ? () => this.run() : null;
    fill(this.sources, ...renderSources(listSources(record, this.earlier), (source) => openPassage(source, record, this.conversation.info.id)));
    fill(this.actions, ...renderActions(record, { again, inside: () => openInside(record, this.earlier) }));
  }
}
