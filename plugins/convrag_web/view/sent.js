/** What the model saw: the history, the evidence with its hints, and the prompt as it was sent. */

import { make } from "./dom.js";
import { numberPassages } from "./numbering.js";

/** Show earlier turns as a conversation: [{ question, answer }], oldest first. */
export function renderHistory(history) {
  return make(
    "ol",
    { class: "history" },
    history.map((turn) =>
      make(
        "li",
        {},
        make("p", { class: "user" }, turn.question),
        make(
          "p",
          { class: "assistant" },
          turn.answer || make("span", { class: "note" }, "no answer"),
        ),
      ),
    ),
  );
}

/** Show the evidence as the model saw it, each item with the number that cites it. */
export function renderEvidence(record) {
  const texts = new Map((record.contexts ?? []).map((hit) => [hit.id, hit.text]));
  const numbers = new Map([...numberPassages(record)].map(([number, id]) => [id, number]));
  return make(
    "ol",
    { class: "evidence" },
    (record.evidence ?? []).map((item) =>
      make(
        "li",
        { class: item.hint ? "hint" : null },
        make("span", { class: "rank" }, `[${numbers.get(item.id)}]`),
        make(
          "div",
          {},
          item.hint && make("span", { class: "chip shown" }, "hint"),
          make("pre", {}, item.shown ?? item.text ?? texts.get(item.id) ?? ""),
        ),
      ),
    ),
  );
}

/** Show the messages of a prompt in their order. */
export function renderPrompt(messages) {
  return make(
    "ol",
    { class: "prompt" },
    messages.map((message) =>
      make(
        "li",
        {},
        make("span", { class: "role" }, message.role),
        make("pre", {}, message.content),
      ),
    ),
  );
}
