// The tab that classifies: the label in large letters, and a bar for each; a value where the model gives one.

import { bars } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./language.js";

const TONES = { positive: "good", pos: "good", 正面: "good", negative: "bad", neg: "bad", 负面: "bad", neutral: "calm" };

export const classify = {
  name: "classify",
  ask: "classify",
  path: "v1/classify",
  fields: [
    { name: "text", kind: "lines", rows: 4 },
    { name: "pair", kind: "lines", rows: 2, optional: true, more: true },
  ],
  examples: {
    en: [
      { text: "A warm, funny film with wonderful actors." },
      { text: "Two hours of my life that nobody gives back." },
      { text: "The room was clean, but the street was loud all night." },
    ],
    zh: [{ text: "服务很周到，下次还来。" }, { text: "等了一个小时，菜还是凉的。" }, { text: "房间干净，但是隔音不好。" }],
  },
  getOne: ["unmask finetune classify -m default --train reviews.csv -o reviews", "unmask serve reviews"],
  body: ({ text, pair }) => ({ text, ...(pair.trim() ? { pair } : {}) }),
  python: ({ text, pair, model }) => ({ name: "classify", given: [text], named: { pair, model } }),
  draw,
};

function draw(answer) {
  if ("value" in answer) return [make("p", { class: "headline" }, make("span", { class: "hint" }, say("classify.value")), ` ${answer.value.toFixed(3)}`)];
  const labels = answer.labels ?? (answer.label === null ? [] : [answer.label]);
  const unsure = say(answer.labels ? "classify.none" : "classify.unsure");
  const rows = Object.entries(answer.probabilities)
    .sort(([, one], [, other]) => other - one)
    .map(([name, value]) => ({ name, value, tone: TONES[name.toLowerCase()] }));
  return [
    make("p", { class: "headline" }, labels.length ? labels.map((label) => make("span", { class: `verdict ${TONES[label.toLowerCase()] ?? ""}` }, label)) : unsure),
    bars(rows, say("classify.probabilities")),
  ];
}
