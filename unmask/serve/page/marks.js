// A text with marked stretches: answers, entities, filled words. A mark says its kind in words, not by colour alone.

import { cut } from "./characters.js";
import { make } from "./elements.js";

// spans: [{ start, end, kind?, hue?, title?, put? }]; `put` stands in place of the stretch itself.
export function marked(text, spans, { dir = "auto" } = {}) {
  return make("p", { class: "marked", dir }, cut(text, spans).map(([words, span]) => (span ? mark(words, span) : words)));
}

function mark(words, { kind, hue = 0, title, put }) {
  return make(
    "mark",
    { class: `hue${hue}`, title },
    put ?? words,
    kind ? make("span", { class: "kind" }, kind) : null,
  );
}

export const HUES = 6;

// Kinds get their colours in the order in which they are first seen.
export function huesOf(kinds) {
  return new Map([...new Set(kinds)].map((kind, number) => [kind, number % HUES]));
}
