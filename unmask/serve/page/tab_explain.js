// The tab that explains: the words of the text in the colours of what they said for the answer, and how true that is.

import { bars } from "./bars.js";
import { coloured, signed } from "./colours.js";
import { make } from "./elements.js";
import { say } from "./language.js";

export const explain = {
  name: "explain",
  ask: "explain",
  path: "v1/explain",
  fields: [
    { name: "text", kind: "lines", rows: 4 },
    { name: "pair", kind: "lines", rows: 2, optional: true, more: true },
    { name: "target", kind: "line", optional: true, more: true },
    { name: "method", kind: "choice", choices: ["ig", "gradient", "erasure", "shapley", "attention"], value: "ig", more: true },
  ],
  examples: {
    en: [{ text: "The capital of France is [MASK]." }, { text: "The story is thin, but the actors are wonderful." }],
    zh: [{ text: "今天天气很[MASK]。" }, { text: "故事一般，但是演员非常出色。" }],
  },
  getOne: ["unmask serve default"],
  body: ({ text, pair, target, method }) => ({
    text,
    ...(pair.trim() ? { pair } : {}),
    ...(target.trim() ? { target } : {}),
    method,
  }),
  python: ({ text, pair, target, method, model }) => ({ name: "explain", given: [text], named: { pair, target, method, model } }),
  draw,
};

function draw(found, { text, pair }) {
  const most = Math.max(...found.scores.map(Math.abs));
  const words = found.offsets.map(([start, end], place) => ({ start, end, score: found.scores[place], part: found.parts[place] }));
  const texts = pair === undefined ? [text] : [text, pair];
  return [
    make("p", { class: "headline" }, say("explain.label", { label: found.label })),
    ...texts.map((each, part) => coloured(each, words.filter((word) => word.part === part), most, found.label)),
    ...faithful(found.faithfulness),
    table(found),
  ];
}

function faithful({ comprehensiveness, random, p }) {
  const rows = [
    { name: say("explain.comprehensive"), value: comprehensiveness },
    { name: say("explain.random"), value: random, tone: "calm" },
  ];
  return [
    make("h3", {}, say("explain.true")),
    bars(rows, say("explain.true")),
    make("p", { class: "hint" }, say(p < 0.05 ? "explain.better" : "explain.chance", { p: p.toFixed(2) })),
  ];
}

function table({ tokens, scores }) {
  const rows = tokens.map((word, place) => make("tr", {}, make("th", { scope: "row" }, word), make("td", {}, signed(scores[place]))));
  return make("details", {}, make("summary", {}, say("explain.table")), make("table", {}, make("tbody", {}, rows)));
}
