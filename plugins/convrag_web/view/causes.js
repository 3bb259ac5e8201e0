/** Retrieval or generation: why a question was missed. */

import { make, makeTable } from "./dom.js";
import { countOf } from "./format.js";
import { formatRoute } from "./route.js";
import { makeSortable } from "./sorting.js";

const ENOUGH = 0.5; // of the words of a reference answer

/**
 * Say what missed a question: "retrieval", "generation", or "" if nothing did, or it is not known.
 */
export function findCause(index, place) {
  const [relevant, found] = [index.relevant[place], index.found[place]];
  const { held, said } = readShares(index, place);
  const isJudged = relevant > 0 || !index.relevant.some((each) => each > 0);
  if (index.failed[place] || !isJudged || said >= ENOUGH) return "";
  if (said === null) return relevant > 0 && found === 0 ? "retrieval" : "";
  return found > 0 || held >= ENOUGH ? "generation" : "retrieval";
}

/** Read the shares of the reference's words in the passages (`held`) and in the answer (`said`). */
function readShares(index, place) {
  return { held: index.held?.[place] ?? null, said: index.said?.[place] ?? null };
}

/** Say of one turn what it was missed by, and the numbers behind. */
export function explainCause(index, place) {
  const [relevant, found] = [index.relevant[place], index.found[place]];
  const { held, said } = readShares(index, place);
  const cause = findCause(index, place);
  const facts = [];
  if (relevant > 0) {
    facts.push(`${found} of ${countOf(relevant, "relevant passage")} retrieved`);
  }
  if (said !== null) {
    facts.push(
      `the retrieved passages have ${formatShare(held)} of the reference answer's words, ` +
        `the answer has ${formatShare(said)}`,
    );
  }
  if (!facts.length) return "";
  const heading = make("b", {}, cause ? `Missed by ${cause}. ` : "");
  return make("p", { class: "cause" }, heading, `${facts.join("; ")}.`);
}

const formatShare = (share) => `${Math.round(100 * share)} %`;

/** Count the questions that runs have missed; each number leads to its turns. */
export function renderCauses(runs, route) {
  const rows = runs.map((run, number) => {
    const causes = run.index.turn.map((_, place) => findCause(run.index, place));
    const link = (cause) =>
      make(
        "a",
        {
          href: formatRoute({
            ...route,
            run: number,
            other: -1,
            turn: "",
            view: "list",
            state: cause,
          }),
        },
        String(causes.filter((each) => each === cause).length),
      );
    return [run.facts.name, String(causes.length), link("retrieval"), link("generation")];
  });
  const note =
    "A question is missed by retrieval where no relevant passage was retrieved, and the retrieved " +
    "ones have less than half of the reference answer's words; by generation where the answer " +
    "alone lacks them. Without an answer or a reference, the passages decide.";
  return make(
    "section",
    {},
    make("h3", {}, "Retrieval or generation?"),
    makeSortable(
      makeTable(
        ["run", "questions", "missed by retrieval", "missed by generation"],
        rows,
        1,
        "Retrieval or generation?",
      ),
    ),
    make("p", { class: "note" }, note),
  );
}
