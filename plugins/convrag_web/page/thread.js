/** The turns of one conversation, or of two: each question with an answer from each of them. */

import { make } from "../view/dom.js";
import { AnswerView } from "./answer.js";
import { suggestQuestions } from "./api.js";
import { listChoices } from "./choices.js";
import { pairTurns } from "./comparison.js";
import { fill } from "./controls.js";

export class Thread {
  /**
   * @param {import("./conversation.js").Conversation[]} conversations one, or two that are compared
   * @param {{openPassage: Function, openInside: Function, ask: Function, asksModel: Function,
   *     onChange: Function}} options
   *     ask: asks a question; asksModel: whether a served model (by its id) asks a language model; onChange: is called with the thread when an answer begins, when a conversation has an id,
   *       and when it has ended
   */
  constructor(conversations, options) {
    this.conversations = conversations;
    this.options = options;
    this.rows = [];
    this.suggestions = make("div", { class: "suggestions" });
    this.element = make("div", { class: `thread columns-${conversations.length}` });
    for (const places of this.listPlaces()) this.showTurn(places);
    this.markLast();
  }

  /** Follows the turns in progress, begun by another window or before a reload. */
  takeUp() {
    for (const answer of this.rows.at(-1)?.answers ?? [])
      if (answer?.awaited) answer.run({ follow: true });
  }

  /** The ids of the conversations; none before the server has given one to each. */
  get ids() {
    return this.conversations.every((each) => each.begun)
      ? this.conversations.map((each) => each.info.id)
      : [];
  }

  get running() {
    return this.rows.some((row) => row.answers.some((answer) => answer?.running));
  }

  get stale() {
    return this.rows.at(-1).answers.some((answer) => answer?.stale);
  }

  /** Asks a question in each conversation. */
  ask(question) {
    fill(this.suggestions);
    const row = this.addRow(
      question,
      this.conversations.map((each) => each.records.length),
    );
    for (const conversation of this.conversations) conversation.firstQuestion ||= question;
    this.markLast();
    this.scrollToEnd();
    for (const answer of row.answers) answer.run();
  }

  stop() {
    for (const row of this.rows) for (const answer of row.answers) answer?.stop();
  }

  /** Brings the last question into sight, with room for its answer, so that nothing moves. */
  scrollToEnd() {
    this.rows.at(-1)?.element.scrollIntoView({ block: "start" });
  }

  listPlaces() {
    const [left, right] = this.conversations.map((each) => each.turns);
    return right ? pairTurns(left, right) : left.map((_, place) => [place]);
  }

  showTurn(places) {
    const first = places.findIndex((place) => place !== null);
    const question = this.conversations[first].turns[places[first]].original_query;
    for (const answer of this.addRow(question, places).answers) if (answer?.record) answer.show();
  }

  addRow(question, places) {
    const comparing = this.conversations.length > 1;
    const answers = this.conversations.map((conversation, index) => {
      if (places[index] === null) return null;
      return new AnswerView(conversation, question, {
        ...this.options,
        place: places[index],
        label: comparing ? conversation.info.model : undefined,
        onChange: () => this.handleChange(),
      });
    });
    const cells = answers.map(
      (answer) => answer?.element ?? make("p", { class: "answer none" }, "Not asked here"),
    );
    const title = make(
      "h2",
      { class: "question" },
      make("span", { class: "visually-hidden" }, "You asked: "),
      question,
    );
    const element = make(
      "article",
      { class: "row" },
      title,
      make("div", { class: "answers" }, ...cells),
    );
    const row = { element, answers };
    this.rows.push(row);
    this.element.append(element);
    return row;
  }

  /** Only the last turn can be answered again, and suggestions stand below it. */
  markLast() {
    for (const row of this.rows)
      for (const answer of row.answers) answer?.setLast(row === this.rows.at(-1));
    this.rows.at(-1)?.element.append(this.suggestions);
  }

  handleChange() {
    this.options.onChange(this);
    fill(this.suggestions);
    this.suggesting?.abort(); // the model has the next question to answer
    if (!this.running) this.offerQuestions();
  }

  /**
   * Offers the choices of an answer that asks back, else questions to ask next. Those of a language
   * model cost a call, so there is a button first.
   */
  offerQuestions() {
    const record = this.rows.at(-1).answers[0]?.record;
    if (!record || record.error) return;
    const choices = listChoices(record);
    if (choices.length) this.showQuestions("Choose", choices);
    else if (this.options.asksModel(this.conversations[0].info.model))
      fill(this.suggestions, makeButton("Suggest questions", () => this.askForQuestions()));
    else this.suggest();
  }

  async askForQuestions() {
    const say = (text) =>
      fill(this.suggestions, make("span", { class: "caption", role: "status" }, text));
    say("Thinking ...");
    const shown = await this.suggest();
    if (!shown && !this.running) say("It suggests nothing.");
  }

  /** Shows questions to ask next, if there are any; returns whether it did. */
  async suggest() {
    this.suggesting = new AbortController();
    const row = this.rows.at(-1);
    const record = row.answers[0].record;
    let questions;
    try {
      questions = await suggestQuestions(this.conversations[0].info.id, this.suggesting.signal);
    } catch {
      return false; // nothing is missing from the answer without them
    }
    if (this.running || row !== this.rows.at(-1) || record !== row.answers[0].record) return false;
    if (questions.length) this.showQuestions("Ask next", questions);
    return questions.length > 0;
  }

  showQuestions(caption, questions) {
    const buttons = questions.map((each) => makeButton(each, () => this.options.ask(each)));
    fill(this.suggestions, make("span", { class: "caption" }, caption), ...buttons);
  }
}

function makeButton(text, onclick) {
  return make("button", { type: "button", class: "suggestion", onclick }, text);
}
