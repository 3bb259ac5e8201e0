/** One answer: its query, its progress, its text as it comes, and then its sources and actions. */

import { make } from "../view/dom.js";
import { announce } from "./announce.js";
import { renderActions, renderSources } from "./answer_footer.js";
import { ConnectionLost, stopTurn } from "./api.js";
import { cutUnfinishedCitation, linkCitations } from "./citations.js";
import { fill } from "./controls.js";
import { renderThumbs } from "./feedback.js";
import { renderMarkdown } from "./markdown.js";
import { makeFailure, makeNotice, sayWhatIsKept } from "./notices.js";
import { QueryLine } from "./query_line.js";
import { listSources } from "./sources.js";
import { Status } from "./status.js";
import { renderThoughts } from "./thoughts.js";
import { runTurn } from "./turn_request.js";
import { checkAnswer, renderMarked } from "./unsupported.js";

export class AnswerView {
  /**
   * @param {import("./conversation.js").Conversation} conversation
   * @param {string} question
   * @param {{place: number, label?: string, openPassage: Function, openInside: Function,
   *     onChange: Function}} options
   *     place: of the turn in the conversation's records; label: names the configuration where
   *       two are compared;
   *     onChange: is called when a turn begins, when its conversation has an id, and when it has
   *       ended
   */
  constructor(conversation, question, options) {
    this.conversation = conversation;
    this.question = question;
    this.options = options;
    this.queryLine = new QueryLine((query) => this.run({ query }));
    this.thoughts = make("div", { class: "all-thoughts" });
    this.text = make("div", { class: "text" });
    this.notices = make("div", { class: "notices" });
    this.sources = make("div", { class: "all-sources" });
    this.actions = make("div", { class: "actions" });
    this.name = options.label ? `Answer of ${options.label}` : "Answer";
    this.element = make("div", {
      class: "answer",
      role: "group",
      "aria-label": this.name,
      tabindex: "-1",
    });
    this.status = new Status(this.element);
    if (options.label) this.element.append(make("h3", { class: "label" }, options.label));
    this.element.append(
      this.queryLine.element,
      this.thoughts,
      this.text,
      this.status.element,
      this.notices,
      this.sources,
      this.actions,
    );
  }

  get earlier() {
    return this.conversation.records.slice(0, this.options.place);
  }

  /** The stored record of this turn; none while it is in progress, or if it was stopped. */
  get record() {
    return this.conversation.records[this.options.place];
  }

  /** Whether the server takes this turn, as far as is known here. */
  get awaited() {
    return this.conversation.awaits(this.options.place);
  }

  /** Whether another window has continued the conversation, or ended this turn. */
  get stale() {
    return this.gone || (Boolean(this.record) && this.record.turn !== this.options.place + 1);
  }

  get running() {
    return Boolean(this.controller);
  }

  /** Shows the record that the server keeps. */
  show() {
    const { record } = this;
    this.status.end();
    this.queryLine.show(record, this.earlier);
    fill(this.thoughts, ...renderThoughts(record));
    this.written = record.agent_response;
    this.renderText(record);
    const fallbacks = Object.entries(record.fallbacks ?? {}).filter(
      ([stage]) => stage !== "rewriter",
    );
    fill(
      this.notices,
      ...fallbacks.map(([stage, reason]) => makeNotice(`The ${stage} fell back: ${reason}`)),
    );
    if (record.error) this.addFailure("There is no answer to this question.", record.error);
    this.showFooter();
  }

  /**
   * Only the last turn can be answered again, and one that is not stored only until the next
   * question.
   */
  setLast(last) {
    this.last = last;
    if (!last && !this.record) {
      this.options.place = -1; // its place in the records is now that of the next turn
      for (const each of this.notices.querySelectorAll("button")) each.remove();
    }
    if (this.record && !this.running) this.showFooter();
    this.queryLine.setEditable(last);
  }

  /** Answers the question, or answers it again; with `follow`, takes up the turn in progress. */
  async run({ query, follow = false } = {}) {
    const free = this.stop();
    const controller = (this.controller = new AbortController());
    this.startOver();
    this.options.onChange();
    try {
      await free;
      const turn = { question: this.question, query, again: Boolean(this.record), follow };
      for await (const { event, data } of runTurn(this.conversation, turn, controller.signal)) {
        if (this.controller === controller) this.handle(event, data);
      }
    } catch (error) {
      this.gone = follow && error.status === 404; // it has ended meanwhile
      if (this.controller === controller && !this.gone)
        this.fail(error, controller.signal.aborted || error.code === "cancelled");
    }
    if (this.controller !== controller) return; // another query took its place
    this.controller = this.conversation.inProgress = null;
    this.setLast(this.last);
    this.options.onChange();
  }

  /** Stops the turn in progress; returns when the server has ended it. */
  async stop() {
    if (!this.running) return;
    this.controller.abort();
    // The next request tells
    if (this.conversation.begun) await stopTurn(this.conversation.info.id).catch(() => {});
  }

  startOver() {
    const hadFocus = this.element.contains(document.activeElement);
    this.written = "";
    this.progress = {};
    this.queryLine.clear();
    for (const part of [this.thoughts, this.text, this.notices, this.sources, this.actions]) fill(part);
    this.status.start();
    if (hadFocus) this.element.focus({ preventScroll: true });
  }

  handle(event, data) {
    if (event === "begun") this.options.onChange();
    if (event === "busy") this.status.showBusy(data);
    if (event === "stage") this.showStage(data);
    if (event === "notice") this.note(data);
    if (event === "record") this.finish(data);
    if (event === "piece") this.write(data.text);
  }

  /** Says what the turn waits for; if it restarts, the text until now is not part of the answer. */
  note({ text, restarts }) {
    this.status.say(text);
    this.noted = true;
    if (restarts) this.written = "";
  }

  showStage({ stage, record }) {
    this.stage = stage;
    const isFirst = !this.progress.queries;
    this.progress = { ...this.progress, ...record };
    this.queryLine.show(this.progress, this.earlier);
    this.queryLine.setEditable(true);
    this.status.showNext(stage, this.progress);
    if (isFirst) this.options.onChange(); // other windows can take it up now
  }

  finish(record) {
    const stays = record.error && this.record && !this.record.error;
    if (!stays) this.conversation.records[this.options.place] = record;
    this.show();
    if (stays) this.addFailure("There was no new answer; the former one stays.", record.error);
    announce(
      record.error
        ? `There is no answer: ${record.error}`
        : `${this.name}: ${this.text.textContent}`,
    );
  }

  fail(error, stopped) {
    this.status.end();
    fill(this.notices);
    if (this.record) this.show();
    const lost = error instanceof ConnectionLost;
    const texts = [
      sayWhatIsKept(stopped, Boolean(this.record), lost),
      stopped ? "" : error.message,
    ];
    this.addFailure(...texts, lost);
    announce(texts.join(" "));
  }

  addFailure(what, why, lost = false) {
    this.notices.append(makeFailure(what, why, () => this.tryAgain(lost)));
  }

  /** Asks again, unless the server went on with the turn after the connection was lost. */
  async tryAgain(connectionLost) {
    const before = this.record?.agent_response;
    const lost = connectionLost && (await this.conversation.refresh().catch((error) => error));
    if (lost) return this.fail(lost, false);
    if (this.record?.agent_response === before)
      return this.run({ follow: connectionLost && this.awaited });
    this.show();
    this.setLast(this.last);
  }

  write(piece) {
    if (this.noted) this.status.showNext(this.stage, this.progress); // what was waited for is there
    this.noted = false;
    this.written += piece;
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      if (this.running) this.renderText(this.progress);
    });
  }

  renderText(record) {
    const finished = record === this.record;
    const fragment = finished
      ? renderMarked(this.written, record.unsupported)
      : renderMarkdown(cutUnfinishedCitation(this.written));
    const open = (source) =>
      this.options.openPassage(source, record, finished && this.conversation.info.id);
    linkCitations(fragment, listSources(record, this.earlier), open);
    fill(this.text, fragment);
  }

  showFooter() {
    const {
      record,
      conversation: {
        info: { id },
      },
    } = this;
    const sources = listSources(record, this.earlier);
    fill(
      this.sources,
      ...renderSources(sources, (source) => this.options.openPassage(source, record, id)),
    );
    const again = this.last && !record.error ? () => this.run() : null;
    const check = () => checkAnswer(id, record, this.notices, () => this.renderText(record));
    const inside = () => this.options.openInside(record, this.earlier);
    fill(
      this.actions,
      ...renderThumbs(id, record, sources),
      ...renderActions(record, { again, check, inside }),
    );
  }
}
