/** Plain data of any shape for readers: the trace of a stage, labels, metadata. */

import { make, makeFold, makeTable } from "./dom.js";
import { countOf, formatScore } from "./format.js";

const MOST = 200; // entries of one list

/** Show a value: a text, a number, a list or an object of such. */
export function renderData(value) {
  if (Array.isArray(value)) return renderList(value);
  if (value !== null && typeof value === "object") return renderObject(value);
  return document.createTextNode(formatPlain(value));
}

/** A text, number or truth as words; an empty text for what is not there. */
export function formatPlain(value) {
  if (value === null || value === undefined) return "\u2013";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number")
    return Number.isInteger(value) ? String(value) : formatScore(value);
  return String(value);
}

/** A key as words: "num_extracted_sentences" -> "num extracted sentences". */
export function formatKey(key) {
  return String(key).replaceAll("_", " ");
}

function renderObject(object) {
  const entries = Object.entries(object);
  if (!entries.length) return document.createTextNode("\u2013");
  return make(
    "dl",
    { class: "data" },
    entries.map(([key, value]) => [
      make("dt", {}, formatKey(key)),
      make("dd", {}, foldIfLong(value)),
    ]),
  );
}

function renderList(list) {
  if (!list.length) return document.createTextNode("\u2013");
  const shown = list.slice(0, MOST);
  const more =
    list.length > MOST &&
    make("p", { class: "note" }, `and ${countOf(list.length - MOST, "more item")}`);
  if (shown.every(isPlain)) {
    const short = shown.every((each) => String(each).length < 40);
    return short
      ? make("span", {}, shown.map(formatPlain).join(", "), more)
      : make(
          "ul",
          {},
          shown.map((each) => make("li", {}, formatPlain(each))),
          more,
        );
  }
  if (shown.every(isFlat)) {
    const keys = [...new Set(shown.flatMap(Object.keys))];
    const rows = shown.map((each, index) => [
      String(index),
      ...keys.map((key) => (key in each ? renderData(each[key]) : "")),
    ]);
    return make("div", {}, makeTable(["no.", ...keys.map(formatKey)], rows, keys.length + 2), more);
  }
  return make(
    "ol",
    { start: "0" },
    shown.map((each) => make("li", {}, renderData(each))),
    more,
  );
}

function foldIfLong(value) {
  if (!Array.isArray(value) || value.length < 4 || value.every(isPlain)) return renderData(value);
  return makeFold(countOf(value.length, "item"), { class: "inner" }, renderData(value));
}

function isPlain(value) {
  return value === null || typeof value !== "object";
}

function isFlat(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return false;
  return Object.values(value).every(
    (each) => isPlain(each) || (Array.isArray(each) && each.every(isPlain)),
  );
}
