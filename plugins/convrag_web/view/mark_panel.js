/** The marks of a turn: one's own, and beside them those of others; who marks, and the files. */

import { make, makeFold } from "./dom.js";
import { countOf } from "./format.js";
import { addMarks, findMarks, formatMarks, keepMarks, openMarks, setMark } from "./marks.js";

const opened = new Map(); // run -> its marks
const THUMBS = [
  [1, "\u2713 Helpful"],
  [0, "\u2717 Not helpful"],
];
const NOT_KEPT = "This browser does not keep marks: download them before you close the page.";

/** Show the marks of a turn, and fields to mark it. Its elements stay, so that no click is lost. */
export function renderMarks(run, turn) {
  if (!opened.has(run)) opened.set(run, openMarks(run));
  const marks = opened.get(run);
  const status = make("p", { class: "note", role: "status" });
  const others = make("div", { class: "mark-columns" });
  const count = make("span", { class: "note" });
  const say = (text = "") => {
    status.textContent = text || (marks.kept ? "" : NOT_KEPT);
  };

  const name = make("input", {
    type: "text",
    maxlength: "200",
    autocomplete: "off",
    value: marks.annotator,
    onchange: () => change({ annotator: name.value.trim() }),
  });
  const thumbs = THUMBS.map(([score, text]) =>
    make("button", { type: "button", class: "button", onclick: () => press(score) }, text),
  );
  const comment = make("textarea", {
    rows: "2",
    onchange: () => mark(findMarks(marks, turn)[0].score),
  });
  const save = make(
    "button",
    { type: "button", class: "button", onclick: () => download(marks) },
    "Download my marks",
  );
  const files = make("input", {
    type: "file",
    accept: ".jsonl",
    multiple: true,
    class: "unseen",
    onchange: () => load(),
  });
  const blind = make("input", {
    type: "checkbox",
    checked: marks.blind,
    onchange: () => change({ blind: blind.checked }),
  });

  function update() {
    const [own, all] = findMarks(marks, turn);
    thumbs.forEach((thumb, place) =>
      thumb.setAttribute("aria-pressed", String(own?.score === THUMBS[place][0])),
    );
    comment.value = own?.comment ?? "";
    comment.disabled = !own;
    comment.placeholder = own ? "" : "after a thumb";
    others.replaceChildren(
      ...all.map(([who, mark]) =>
        make(
          "div",
          { class: "other-mark" },
          make("b", {}, who),
          renderOther(mark, marks.blind && !own),
        ),
      ),
    );
    const given = marks.all.get(marks.annotator)?.size ?? 0;
    count.textContent = `${given} of ${countOf(run.index.turn.length, "turn")} marked`;
    save.disabled = !given;
    say();
  }

  function change(changed) {
    Object.assign(marks, changed);
    keepMarks(marks);
    update();
  }

  function press(score) {
    if (!marks.annotator) return say("Say your name first: a mark is somebody's.");
    return mark(findMarks(marks, turn)[0]?.score === score ? null : score);
  }

  function mark(score) {
    setMark(marks, turn, score, comment.value);
    update();
  }

  async function load() {
    const messages = [];
    for (const file of files.files) {
      try {
        messages.push(
          ...addMarks(marks, await file.text(), file.name).map(
            ([who, number]) => `${countOf(number, "mark")} of ${who} loaded.`,
          ),
        );
      } catch (error) {
        messages.push(error.message);
      }
    }
    files.value = ""; // so that the same file can be chosen again
    update();
    say(messages.join(" "));
  }

  update();
  // folded until somebody marks: most who look into a turn only read
  return makeFold(
    "Marks",
    {
      class: "marks fold",
      "aria-label": `Marks of ${run.facts.name}`,
      open: Boolean(marks.annotator || marks.all.size),
    },
    make(
      "div",
      { class: "mark-columns" },
      make(
        "div",
        { class: "own-mark" },
        make("label", {}, "Your name", name),
        make("div", { class: "thumbs", role: "group", "aria-label": "Your mark" }, thumbs),
        make("label", {}, "Comment", comment),
      ),
      others,
    ),
    make(
      "div",
      { class: "mark-files" },
      count,
      save,
      make("label", { class: "button" }, "Load marks\u2026", files),
      make("label", {}, blind, " Blind: show the marks of others once I have marked"),
    ),
    status,
  );
}

/** The mark of another annotator; a hidden one says no more than that it is there. */
function renderOther(mark, hidden) {
  if (!mark) return make("p", { class: "note" }, "no mark yet");
  if (hidden) return make("p", { class: "note" }, "has marked this turn: hidden until you have");
  return [
    make("p", {}, THUMBS.find(([score]) => score === mark.score)[1]),
    mark.comment && make("p", { class: "comment" }, mark.comment),
  ];
}

function download(marks) {
  const address = URL.createObjectURL(
    new Blob([formatMarks(marks)], { type: "application/jsonl" }),
  );
  make("a", {
    href: address,
    download: `${marks.annotator.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.jsonl`,
  }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
