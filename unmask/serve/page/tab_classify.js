// The tab that classifies: the label in large letters, and a bar for each; a value where the model gives one; the words
// that carried it where they were asked for.

import { bars, percent } from "./bars.js";
import { coloured } from "./colours.js";
import { make } from "./elements.js";
import { say } from "./language.js";

const TONES = { positive: "good", pos: "good", 正面: "good", negative: "bad", neg: "bad", 负面: "bad", neutral: "calm" };

export const classify = {
  name: "classify",
  ask: "classify",
  path: "v1/classify",
  fields: [
    { name: "text", kind: "lines", rows: 4 },
    { name: "words", kind: "check", value: false, optional: true },
    { name: "pair", kind: "lines", rows: 2, optional: true, more: true },
    { name: "threshold", kind: "number", least: 0, most: 1, step: 0.01, optional: true, more: true },
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
  body: ({ text, pair, threshold, words }) => ({
    text,
    ...(pair.trim() ? { pair } : {}),
    ...(Number(threshold) ? { threshold: Number(threshold) } : {}),
    ...(words ? { words } : {}),
  }),
  python: ({ text, pair, threshold, words, model }) => ({ name: "classify", given: [text], named: { pair, threshold, words, model } }),
  draw,
};

function draw(answer, { text, pair }) {
  if ("value" in answer) return [make("p", { class: "headline" }, make("span", { class: "hint" }, say("classify.value")), ` ${answer.value.toFixed(3)}`)];
  const rows = Object.entries(answer.probabilities)
    .sort(([, one], [, other]) => other - one)
    .map(([name, value]) => ({ name, value, tone: TONES[name.toLowerCase()] }));
  return [
    make("p", { class: "headline" }, verdicts(answer)),
    ...remarks(answer, rows[0].name),
    bars(rows, say("classify.probabilities")),
    ...carried(answer.words, text, pair, rows[0].name),
  ];
}

// A feeling has its name in the page's language, any other label its own.
function verdicts({ labels, label, sentiment }) {
  if (sentiment) return make("span", { class: `verdict ${TONES[sentiment]}` }, say(`classify.${sentiment}`));
  const said = labels ?? (label === null ? [] : [label]);
  if (!said.length) return say(labels ? "classify.none" : "classify.unsure");
  return said.map((each) => make("span", { class: `verdict ${TONES[each.toLowerCase()] ?? ""}` }, each));
}

function remarks({ confidence, abstained, sentiment, label, probabilities }, likeliest) {
  if (abstained) return [make("p", { class: "hint" }, say("classify.below", { label: likeliest, share: percent(confidence) }))];
  const weak = sentiment === "neutral" && Object.keys(probabilities).length === 2;  // of three, the model itself says neutral
  return weak ? [make("p", { class: "hint" }, say("classify.weak", { label, share: percent(confidence) }))] : [];
}

function carried(words, text, pair, label) {
  if (!words) return [];
  const most = Math.max(...words.map((word) => Math.abs(word.score)));
  const texts = pair === undefined ? [text] : [text, pair];
  return [
    make("h3", {}, say("classify.carried", { label })),
    ...texts.map((each, part) => coloured(each, words.filter((word) => word.part === part), most, label)),
  ];
}
