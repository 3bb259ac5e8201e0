/** Which turns the list shows, and in which order. */

import { findCause } from "./causes.js";

/** The ways to sort. Those of the second list compare two runs. */
export const SORTS = [
  ["worst", "worst first"],
  ["best", "best first"],
  ["order", "by conversation"],
  ["slow", "slowest first"],
  ["cost", "most expensive first"],
];
export const COMPARING_SORTS = [
  ["changed", "most changed first"],
  ["lost", "lost most first"],
  ["gained", "gained most first"],
];

export const STATES = [
  ["failed", "failed"],
  ["fell_back", "fell back"],
  ["missed", "missed a relevant passage"],
  ["none", "found no relevant passage"],
  ["retrieval", "missed by retrieval"],
  ["generation", "missed by generation"],
];

/** The measures that turns can be sorted by: those that stand for the run first. */
export function listMeasures(run) {
  const measured = Object.keys(run.facts.overall).filter((name) => name in run.index.scores);
  return [
    ...run.facts.main.filter((name) => measured.includes(name)),
    ...measured.filter((name) => !run.facts.main.includes(name)),
  ];
}

/**
 * Choose the turns to show.
 *
 * @param run whose turns they are; other: a run to compare with, or null; route: the filters and
 *     the order.
 * @param words Map place -> text to search in; null where nothing is searched for.
 * @returns places in the run's list, in the order to show; with another run only turns that both
 *     have
 */
export function selectTurns(run, other, route, words) {
  const { index } = run;
  const wanted = route.text.toLowerCase();
  const [label, value] = splitLabel(route.label);
  const places = index.turn
    .map((_, place) => place)
    .filter(
      (place) =>
        (!route.number || index.number[place] === Number(route.number)) &&
        (!route.domain || index.domain[place] === route.domain) &&
        (!label || listValues(index.labels[label]?.[place]).includes(value)) &&
        (!route.state || isInState(index, place, route.state)) &&
        (!other || other.places.has(index.turn[place])) &&
        (!wanted || (words?.get(place) ?? "").includes(wanted)),
    );
  const key = makeKey(run, other, route);
  if (!key) return places;
  const keys = new Map(places.map((place) => [place, key(place)]));
  return places.sort((one, two) => keys.get(one) - keys.get(two) || one - two);
}

/** The difference between two runs in a turn, in a measure; NaN where one of them lacks it. */
export function getDifference(run, other, place, measure) {
  const there = other.places.get(run.index.turn[place]);
  const [mine, its] = [run.index.scores[measure]?.[place], other.index.scores[measure]?.[there]];
  return typeof mine === "number" && typeof its === "number" ? its - mine : NaN;
}

/** The values of a label, of which a turn may have several. */
export function listValues(value) {
  return [value ?? []].flat().map(String).filter(Boolean);
}

/** A label and its value as one text, and back. */
export function joinLabel(label, value) {
  return `${label}=${value}`;
}

function splitLabel(text) {
  const place = text.indexOf("=");
  return place < 0 ? ["", ""] : [text.slice(0, place), text.slice(place + 1)];
}

function isInState(index, place, state) {
  if (state === "failed") return Boolean(index.failed[place]);
  if (state === "fell_back") return index.fell_back[place].length > 0;
  if (state === "retrieval" || state === "generation") return findCause(index, place) === state;
  const missed = index.relevant[place] - index.found[place];
  return state === "missed" ? missed > 0 : index.relevant[place] > 0 && index.found[place] === 0;
}

/** A function place -> number, the least of which comes first; null for the order of the run. */
function makeKey(run, other, { sort, measure }) {
  const { index } = run;
  const last = (value) => (Number.isFinite(value) ? value : Infinity); // what was not measured
  const score = (place) => index.scores[measure]?.[place] ?? NaN;
  const difference = (place) => getDifference(run, other, place, measure);
  const keys = {
    worst: (place) => (index.failed[place] ? -Infinity : last(score(place))),
    best: (place) => last(-score(place)),
    slow: (place) => -index.seconds[place],
    cost: (place) => -index.cost[place],
    changed: (place) => last(-Math.abs(difference(place))),
    lost: (place) => last(difference(place)),
    gained: (place) => last(-difference(place)),
  };
  return keys[sort] ?? null;
}
