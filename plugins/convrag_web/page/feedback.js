/** Thumbs below an answer: whether it helps, and where it does not, why. */

import { make } from "../view/dom.js";
import { announce } from "./announce.js";
import { sendFeedback } from "./api.js";
import { button } from "./controls.js";
import { nameSource } from "./sources.js";

/**
 * @param {string} conversationId
 * @param {Object} record of the turn; its `helpful` is the thumb that was pressed
 * @param {import("./sources.js").Source[]} sources that the answer was given
 * @returns {HTMLElement[]} the two thumbs; none below a turn without an answer
 */
export function renderThumbs(conversationId, record, sources) {
  if (record.error) return [];
  const found = sources.filter((source) => source.rank);
  const up = button("Helpful", () => give({ helpful: true }), { icon: "up", iconOnly: true });
  const down = button("Not helpful", askWhy, { icon: "down", iconOnly: true });
  const show = () => {
    up.setAttribute("aria-pressed", String(record.helpful === true));
    down.setAttribute("aria-pressed", String(record.helpful === false));
  };

  async function give(feedback) {
    try {
      await sendFeedback(conversationId, record.turn, feedback);
    } catch (error) {
      announce(error.message);
      return error.message;
    }
    record.helpful = feedback.helpful;
    show();
    announce("Thank you: it was noted.");
    return "";
  }

  async function askWhy() {
    const dialog = makeDialog(found, give);
    document.body.append(dialog);
    dialog.showModal();
    dialog.addEventListener("close", () => dialog.remove());
  }

  show();
  return [up, down];
}

function makeDialog(sources, give) {
  const comment = make("textarea", { id: "feedback-comment", rows: 2 });
  const answer = make("textarea", { id: "feedback-answer", rows: 3 });
  const boxes = sources.map((source) => make("input", { type: "checkbox", value: source.id }));
  const labels = boxes.map((box, place) =>
    make("label", { class: "checked-passage" }, box, nameSource(sources[place])),
  );
  const failure = make("p", { class: "notice error", role: "alert", hidden: true });
  const form = make(
    "form",
    { class: "feedback" },
    make("h2", { id: "feedback-title" }, "What is wrong with this answer?"),
    make("label", { for: "feedback-comment" }, "Comment"),
    comment,
    make("label", { for: "feedback-answer" }, "What it should have been"),
    answer,
    labels.length > 0 &&
      make(
        "fieldset",
        {},
        make("legend", {}, "Passages that do not belong to the question"),
        ...labels,
      ),
    failure,
    make(
      "div",
      { class: "buttons" },
      button("Cancel", () => dialog.close()),
      make("button", { type: "submit", class: "button primary" }, "Send"),
    ),
  );
  const dialog = make("dialog", { class: "box", "aria-labelledby": "feedback-title" }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wrong = boxes.filter((box) => box.checked).map((box) => box.value);
    failure.textContent = await give({
      helpful: false,
      comment: comment.value,
      answer: answer.value,
      wrong,
    });
    failure.hidden = !failure.textContent;
    if (failure.hidden) dialog.close();
  });
  return dialog;
}
