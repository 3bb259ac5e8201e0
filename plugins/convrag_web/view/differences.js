/** What changed between the records of one turn in two runs. */

import { getName } from "./names.js";

const MOST_WORDS = 1500; // of both answers; longer ones are compared as bags of words

/**
 * Compare two records.
 * Returns { entered, left, moved: passages as [{ id, title, from, to }], changes: [one, other] for renderTurn, sameAnswer }.
 */
export function compareRecords(one, other) {
  const ranks = [one, other].map((record) => new Map((record.contexts ?? []).map((hit, index) => [hit.id, { title: getName(hit), rank: index + 1 }])));
  const list = (mine, its, keep) => [...mine].filter(([id, { rank }]) => keep(rank, its.get(id)?.rank)).map(([id, { title }]) =>
    ({ id, title: title || id, from: ranks[0].get(id)?.rank, to: ranks[1].get(id)?.rank }));
  const left = list(ranks[0], ranks[1], (_, rank) => rank === undefined);
  const entered = list(ranks[1], ranks[0], (_, rank) => rank === undefined);
  const moved = list(ranks[1], ranks[0], (rank, before) => before !== undefined && before !== rank);
  const answers = compareWords(one.agent_response ?? "", other.agent_response ?? "");
  const queries = [one, other].map((record) => new Set((record.queries ?? []).map((query) => query.text)));
  const without = (mine, its) => new Set([...mine].filter((text) => !its.has(text)));
  return {
    entered, left, moved,
    sameAnswer: one.agent_response === other.agent_response,
    changes: [
      { queries: without(queries[0], queries[1]), answer: answers[0],
        passages: new Map([...left.map(({ id }) => [id, "not in the other run"]), ...moved.map(({ id, to }) => [id, `${to} in the other run`])]) },
      { queries: without(queries[1], queries[0]), answer: answers[1],
        passages: new Map([...entered.map(({ id }) => [id, "new"]), ...moved.map(({ id, from }) => [id, `was ${from}`])]) },
    ],
  };
}

/** The words of two texts that the other does not have at that place: two lists of [start, end]. */
export function compareWords(one, other) {
  const [mine, its] = [splitWords(one), splitWords(other)];
  const common = mine.length + its.length <= MOST_WORDS ? findCommonSequence(mine, its) : findCommonWords(mine, its);
  return [mine, its].map((words, side) => joinNeighbours(words.filter((_, index) => !common[side].has(index)).map(({ start, end }) => [start, end]), side ? other : one));
}

function splitWords(text) {
  return [...text.matchAll(/[\p{L}\p{N}]+(?:['\u2019.,-][\p{L}\p{N}]+)*/gu)].map((match) => ({ word: match[0].toLowerCase(), start: match.index, end: match.index + match[0].length }));
}

/** The places of the longest common sequence of words in both lists, as two sets. */
function findCommonSequence(mine, its) {
  const width = its.length + 1;
  const lengths = new Uint16Array((mine.length + 1) * width);
  for (let i = mine.length - 1; i >= 0; i -= 1) {
    for (let j = its.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = mine[i].word === its[j].word ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
    }
  }
  const found = [new Set(), new Set()];
  for (let i = 0, j = 0; i < mine.length && j < its.length; ) {
    if (mine[i].word === its[j].word) {
      found[0].add(i++);
      found[1].add(j++);
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

function findCommonWords(mine, its) {
  const sets = [mine, its].map((words) => new Set(words.map(({ word }) => word)));
  const places = (words, known) => new Set(words.flatMap(({ word }, index) => (known.has(word) ? [index] : [])));
  return [places(mine, sets[1]), places(its, sets[0])];
}

/** Spans with nothing but space between them as one span. */
function joinNeighbours(spans, text) {
  const joined = [];
  for (const [start, end] of spans) {
    const last = joined.at(-1);
    if (last && !text.slice(last[1], start).trim()) last[1] = end;
    else joined.push([start, end]);
  }
  return joined;
}
