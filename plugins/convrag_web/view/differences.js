/** The differences between the records of one turn in two runs. */

import { getName } from "./names.js";

const MOST_WORDS = 1500; // of both answers; longer ones are compared as bags of words

/**
 * Compare two records of one turn.
 *
 * @returns entered, left and moved: passages as [{ id, title, from, to }]; changes: what differs in
 *     [one, other], for renderTurn; sameAnswer: whether their answers are the same
 */
export function compareRecords(one, other) {
  const { entered, left, moved } = comparePassages(rankPassages(one), rankPassages(other));
  const [answerOfOne, answerOfOther] = compareWords(
    one.agent_response ?? "",
    other.agent_response ?? "",
  );
  const queriesOfOne = listQueries(one);
  const queriesOfOther = listQueries(other);
  const changesOfOne = new Map();
  for (const { id } of left) changesOfOne.set(id, "not in the other run");
  for (const { id, to } of moved) changesOfOne.set(id, `${to} in the other run`);
  const changesOfOther = new Map();
  for (const { id } of entered) changesOfOther.set(id, "new");
  for (const { id, from } of moved) changesOfOther.set(id, `was ${from}`);
  return {
    entered,
    left,
    moved,
    sameAnswer: one.agent_response === other.agent_response,
    changes: [
      {
        queries: subtract(queriesOfOne, queriesOfOther),
        answer: answerOfOne,
        passages: changesOfOne,
      },
      {
        queries: subtract(queriesOfOther, queriesOfOne),
        answer: answerOfOther,
        passages: changesOfOther,
      },
    ],
  };
}

/** The retrieved passages of a record: Map id -> { title, rank }. */
function rankPassages(record) {
  const ranks = new Map();
  (record.contexts ?? []).forEach((hit, index) => {
    ranks.set(hit.id, { title: getName(hit) || hit.id, rank: index + 1 });
  });
  return ranks;
}

function comparePassages(before, after) {
  const entered = [];
  const moved = [];
  for (const [id, { title, rank }] of after) {
    const from = before.get(id)?.rank;
    if (from === undefined) entered.push({ id, title, from, to: rank });
    else if (from !== rank) moved.push({ id, title, from, to: rank });
  }
  const left = [];
  for (const [id, { title, rank }] of before) {
    if (!after.has(id)) left.push({ id, title, from: rank, to: undefined });
  }
  return { entered, left, moved };
}

const listQueries = (record) => new Set((record.queries ?? []).map((query) => query.text));
const subtract = (texts, others) => new Set([...texts].filter((text) => !others.has(text)));

/** The words of two texts that the other does not have at that place: two lists of [start, end]. */
export function compareWords(one, other) {
  const mine = splitWords(one);
  const its = splitWords(other);
  const isShort = mine.length + its.length <= MOST_WORDS;
  const [mineInCommon, itsInCommon] = isShort
    ? findCommonSequence(mine, its)
    : findCommonWords(mine, its);
  return [findOwnSpans(mine, mineInCommon, one), findOwnSpans(its, itsInCommon, other)];
}

/** The spans of the words that are not at the common places. */
function findOwnSpans(words, common, text) {
  const own = words.filter((_, index) => !common.has(index));
  return joinNeighbours(
    own.map(({ start, end }) => [start, end]),
    text,
  );
}

function splitWords(text) {
  return [...text.matchAll(/[\p{L}\p{N}]+(?:['\u2019.,-][\p{L}\p{N}]+)*/gu)].map((match) => ({
    word: match[0].toLowerCase(),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

/** The places of the longest common sequence of words in both lists, as two sets. */
function findCommonSequence(mine, its) {
  const width = its.length + 1;
  const lengths = new Uint16Array((mine.length + 1) * width);
  for (let i = mine.length - 1; i >= 0; i -= 1) {
    for (let j = its.length - 1; j >= 0; j -= 1) {
      const isSame = mine[i].word === its[j].word;
      const withBoth = lengths[(i + 1) * width + j + 1] + 1;
      const withOne = Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
      lengths[i * width + j] = isSame ? withBoth : withOne;
    }
  }
  const found = [new Set(), new Set()];
  for (let i = 0, j = 0; i < mine.length && j < its.length;) {
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
  const places = (words, known) =>
    new Set(words.flatMap(({ word }, index) => (known.has(word) ? [index] : [])));
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
