/** What a new conversation begins with: its configuration, and questions to try. */

import { make } from "../view/dom.js";
import { fill } from "./controls.js";

export class Welcome {
  /**
   * @param {Array<{id: string, domains: string[], llm: string, examples?: string[], read: string}>}
   *     models
   * @param {(question: string) => void} ask
   */
  constructor(models, ask) {
    this.models = models;
    this.ask = ask;
    const ids = models.map((model) => model.id);
    this.model = makeSelect(ids);
    this.other = makeSelect(["", ...ids], "nothing");
    this.domain = makeSelect([]);
    this.domainField = makeField("Corpus", this.domain);
    this.hint = make("p", { class: "hint" });
    this.examples = make("div", { class: "examples" });
    const choices = models.length > 1 && [
      makeField("Configuration", this.model),
      makeField("Compare with", this.other),
    ];
    this.element = make(
      "div",
      { class: "welcome" },
      make("h2", {}, "What would you like to know?"),
      make(
        "p",
        {},
        "Each answer cites the passages that it rests on. Select a number to read the passage.",
      ),
      this.examples,
      make("div", { class: "choices" }, choices, this.domainField),
      this.hint,
    );
    for (const select of [this.model, this.other, this.domain])
      select.addEventListener("change", () => this.update());
    this.update();
  }

  /** The conversations to begin: one, or two that are compared. */
  get choice() {
    return this.chosen.map((model) => ({ model: model.id, domain: this.domain.value }));
  }

  /** Preselects a configuration, and what to compare it with. */
  choose(model, domain, other = "") {
    this.model.value = model;
    this.other.value = other;
    this.update();
    this.domain.value = domain;
  }

  get chosen() {
    const ids = [this.model.value, this.other.value].filter(Boolean);
    return ids.map((id) => this.models.find((model) => model.id === id));
  }

  /** Offers the corpora that the chosen configurations share, and the examples of the first one. */
  update() {
    for (const option of this.other.options) {
      const isChosen = option.value === this.model.value;
      option.hidden = isChosen;
      option.disabled = isChosen;
    }
    if (this.other.value === this.model.value) this.other.value = "";
    const [first, second] = this.chosen;
    const domains = first.domains.filter((domain) => !second || second.domains.includes(domain));
    const domain = domains.includes(this.domain.value) ? this.domain.value : domains[0];
    fill(this.domain, ...domains.map((each) => make("option", { value: each }, each)));
    this.domain.value = domain ?? "";
    this.domainField.hidden = domains.length < 2;
    const questions = first.examples ?? [];
    fill(this.examples, ...questions.map((question) => this.makeExample(question)));
    this.hint.textContent = describeModel(first);
  }

  makeExample(question) {
    return make(
      "button",
      { type: "button", class: "suggestion", onclick: () => this.ask(question) },
      question,
    );
  }
}

/** Says that there is no language model, and when the documents were read. */
function describeModel({ llm, read }) {
  const format = { dateStyle: "medium", timeStyle: "short" };
  const sentences = [`Documents read on ${new Date(read).toLocaleString([], format)}.`];
  if (llm === "extractive") {
    sentences.unshift(
      "No language model is set (llm=extractive): answers are quotations from the documents.",
    );
  }
  return sentences.join(" ");
}

function makeSelect(values, nothing) {
  const options = values.map((value) => make("option", { value }, value || nothing));
  const select = make("select", {}, ...options);
  for (const option of select.options) {
    if (!values.includes(option.value)) option.value = ""; // an empty attribute is left out
  }
  return select;
}

function makeField(label, control) {
  return make("label", { class: "field" }, make("span", {}, label), control);
}
