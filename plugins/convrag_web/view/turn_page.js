/** The page of one turn, alone or next to that of another run. */

import { explainCause } from "./causes.js";
import { compareRecords } from "./differences.js";
import { make, makeFold, makeTable } from "./dom.js";
import { formatScore, formatSeconds } from "./format.js";
import { renderMarks } from "./mark_panel.js";
import { chip } from "./passages.js";
import { formatRoute } from "./route.js";
import { renderDifference } from "./scores.js";
import { getDifference, listMeasures } from "./selection.js";
import { listConversation } from "./source.js";
import { renderHead, renderTurn } from "./turn.js";
import { sumTimes } from "./costs.js";

/** Show a turn of a run; with another run, both next to each other and what changed. */
export async function renderTurnPage(run, other, route, places) {
  const place = run.places.get(route.turn);
  if (place === undefined)
    return make("p", { class: "note" }, `There is no turn ${route.turn} in this run.`);
  const head = renderSteps(run, route, place, places);
  const mine = await readTurn(run, place);
  const there = other?.places.get(route.turn);
  if (there === undefined)
    return make(
      "div",
      {},
      head,
      renderOne(run, place, mine, {}),
      other && make("p", { class: "note" }, "The other run does not have this turn."),
    );
  const its = await readTurn(other, there);
  const compared = compareRecords(mine.record, its.record);
  return make(
    "div",
    {},
    head,
    make("div", { class: "turn" }, renderHead(mine.record)),
    renderSummary(run, other, place, [mine.record, its.record], compared),
    make(
      "div",
      { class: "pair" },
      make(
        "div",
        {},
        make("p", { class: "run-name" }, run.facts.name),
        renderOne(run, place, mine, { heading: false, changes: compared.changes[0] }),
      ),
      make(
        "div",
        {},
        make("p", { class: "run-name" }, other.facts.name),
        renderOne(other, there, its, {
          heading: false,
          changes: compared.changes[1],
          otherScores: run.scores(place),
        }),
      ),
    ),
  );
}

async function readTurn(run, place) {
  return { ...(await run.readTurn(place)), history: await run.readHistory(place) };
}

function renderOne(run, place, { record, known, history, leftOut }, options) {
  return [
    leftOut &&
      make(
        "p",
        { class: "trouble" },
        "All but the scores of this turn was left out to keep the file small; intermediate/ has it.",
      ),
    explainCause(run.index, place),
    renderTurn(record, {
      scores: run.scores(place),
      measures: listMeasures(run),
      shares: run.shares,
      history,
      known,
      marks: renderMarks(run, run.index.turn[place]),
      ...options,
    }),
  ];
}

/** The way to the turns before and after in the list, and to the others of the conversation. */
function renderSteps(run, route, place, places) {
  const position = places.indexOf(place);
  const link = (target, text, attributes = {}) =>
    target === undefined
      ? make("span", { class: "note" }, text)
      : make(
          "a",
          {
            href: formatRoute({ ...route, turn: run.index.turn[target], view: "" }),
            ...attributes,
          },
          text,
        );
  const conversation = listConversation(run.index, place);
  return make(
    "nav",
    { class: "steps", "aria-label": "Turns" },
    make(
      "a",
      { class: "to-list", href: formatRoute({ ...route, turn: "", view: "list" }) },
      "\u2190 list",
    ),
    link(places[position - 1], "\u2191 previous", {
      rel: "prev",
      title: "the turn before in the list (key k)",
    }),
    link(places[position + 1], "\u2193 next", {
      rel: "next",
      title: "the turn after in the list (key j)",
    }),
    position >= 0 &&
      make("span", { class: "note" }, `${position + 1} of ${places.length} in the list`),
    make(
      "span",
      { class: "conversation-steps" },
      "Conversation: ",
      conversation.map((other) =>
        link(other, String(run.index.number[other]), {
          "aria-current": other === place ? "page" : null,
          class: run.index.failed[other] ? "failed" : null,
          title: describeStep(run, route, other),
        }),
      ),
    ),
  );
}

/** The question of a turn and its score, for a tooltip. */
function describeStep({ index }, { measure }, place) {
  const score = formatScore(index.scores[measure]?.[place]) || "not measured";
  return `${index.question[place]} (${measure} ${score})`;
}

/** The changes between the two runs, before the turns themselves. */
function renderSummary(run, other, place, [mine, its], compared) {
  const { sameAnswer, changes } = compared;
  const sameQueries = !changes[0].queries.size && !changes[1].queries.size;
  return make(
    "section",
    { class: "turn" },
    make("h3", {}, "What changed"),
    make(
      "div",
      { class: "summary" },
      make(
        "ul",
        {},
        make("li", {}, sameQueries ? "The same queries." : "Other queries."),
        make("li", {}, ...renderMovements(compared, { ...mine.gold, ...its.gold })),
        make("li", {}, sameAnswer ? "The same answer." : "Another answer."),
        make(
          "li",
          {},
          `Time: ${formatSeconds(sumTimes(mine))} \u2192 ${formatSeconds(sumTimes(its))}.`,
        ),
      ),
      renderScoreChanges(run, other, place),
    ),
  );
}

/** The passages that entered, left and moved; relevant ones are marked. */
function renderMovements({ entered, left, moved }, gold) {
  if (!entered.length && !left.length && !moved.length)
    return ["The same passages in the same order."];
  const list = (passages, describe) =>
    make(
      "ul",
      {},
      passages.map((each) =>
        make("li", {}, describe(each), gold[each.id] > 0 && [" ", chip("gold", "\u2713 relevant")]),
      ),
    );
  return [
    `Passages: ${entered.length} entered, ${left.length} left, ${moved.length} moved.`,
    list([...entered, ...left], ({ title, from, to }) =>
      to ? `+ ${title} (at ${to})` : `\u2212 ${title} (was ${from})`,
    ),
    moved.length > 0 &&
      makeFold(
        `Moved: ${moved.length}`,
        {},
        list(moved, ({ title, from, to }) => `${from} \u2192 ${to} ${title}`),
      ),
  ].filter(Boolean);
}

function renderScoreChanges(run, other, place) {
  const rows = listMeasures(run)
    .map((measure) => [measure, getDifference(run, other, place, measure)])
    .filter(([, difference]) => difference)
    .map(([measure, difference]) => {
      const before = run.index.scores[measure][place];
      return [
        measure,
        formatScore(before),
        formatScore(before + difference),
        renderDifference(difference, run.shares.has(measure)),
      ];
    });
  if (!rows.length) return make("p", { class: "note" }, "The same scores.");
  return makeTable(["score", "left", "right", "difference"], rows, 1, "Scores that changed");
}
