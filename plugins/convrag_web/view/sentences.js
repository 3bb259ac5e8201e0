/** Sentences of a text, and which of them a statement rests on. */

const COMMON = new Set(
  (
    "a an and are as at be been but by can could did do does for from had has have he her his how " +
    "i in into is it its may more most no not of on or our she so some such than that the their " +
    "them then there these they this to was we were what when where which who will with would " +
    "you your"
  ).split(" "),
);

/** The [start, end] of each sentence of a text, without the white space around it. */
export function findSentences(text) {
  if (!globalThis.Intl?.Segmenter)
    return trimSpans(
      text,
      [...text.matchAll(/[^.!?\n]+[.!?]*\s*/g)].map((m) => [m.index, m.index + m[0].length]),
    );
  const parts = [...new Intl.Segmenter("en", { granularity: "sentence" }).segment(text)];
  return trimSpans(
    text,
    parts.map((part) => [part.index, part.index + part.segment.length]),
  );
}

/**
 * The sentences of a passage that a statement rests on, as [start, end]: those that share the most
 * words with it. Words are all that is compared, so it points at the place to read and proves
 * nothing. Empty where no sentence comes near.
 */
export function findSupport(statement, passage) {
  const wanted = listWords(statement);
  if (!wanted.size) return [];
  const scored = findSentences(passage).map((span) => {
    const words = listWords(passage.slice(...span));
    return { span, share: [...wanted].filter((word) => words.has(word)).length / wanted.size };
  });
  const best = Math.max(0, ...scored.map((each) => each.share));
  return best < 0.25
    ? []
    : scored.filter((each) => each.share >= Math.max(0.8 * best, 0.25)).map((each) => each.span);
}

function listWords(text) {
  return new Set(
    (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => !COMMON.has(word)),
  );
}

function trimSpans(text, spans) {
  return spans
    .map(([start, end]) => {
      const part = text.slice(start, end);
      return [start + part.length - part.trimStart().length, start + part.trimEnd().length];
    })
    .filter(([start, end]) => end > start);
}
