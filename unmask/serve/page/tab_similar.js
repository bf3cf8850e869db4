// The tab of similar sentences: vectors from the endpoint of OpenAI's clients, their cosines as bars.

import { bars } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./language.js";

export const similar = {
  name: "similar",
  ask: "embeddings",
  path: "v1/embeddings",
  fields: [
    { name: "text", kind: "line" },
    { name: "others", kind: "lines", rows: 6 },
  ],
  examples: {
    en: [
      {
        text: "How do I get to the station?",
        others: "Where is the train stop?\nThe soup was cold.\nWhich way to the railway station, please?\nMy sister plays the violin.",
      },
      {
        text: "The film was wonderful.",
        others: "I loved every minute of the movie.\nIt rained all day.\nThe picture was dull and far too long.",
      },
    ],
    zh: [{ text: "火车站怎么走？", others: "去车站走哪条路？\n汤是凉的。\n请问火车站在哪里？\n我妹妹会拉小提琴。" }],
  },
  getOne: ["unmask serve minilm"],
  body: ({ text, others }) => ({ input: [text, ...lines(others)] }),
  python: ({ input, model }) => ({ name: "embed", given: [input], named: { model } }),
  draw,
};

function lines(text) {
  return text.split("\n").filter((line) => line.trim());
}

function draw({ data }, { input }) {
  const [first, ...others] = data.map((row) => row.embedding);
  const rows = others
    .map((vector, place) => ({ name: input[place + 1], value: cosine(first, vector) }))
    .sort((one, other) => other.value - one.value)
    .map((row) => ({ ...row, note: row.value.toFixed(3) }));
  return [make("p", { class: "marked" }, input[0]), make("h3", {}, say("similar.ranked")), bars(rows, say("similar.ranked"))];
}

function cosine(one, other) {
  const dot = (a, b) => a.reduce((sum, value, place) => sum + value * b[place], 0);
  return dot(one, other) / (Math.sqrt(dot(one, one) * dot(other, other)) || 1);
}
