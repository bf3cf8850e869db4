// The tab that answers from a text: the answer in large letters and marked where it stands, and the other readings.

import { bars, percent } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./language.js";
import { marked } from "./marks.js";

export const answer = {
  name: "answer",
  ask: "answer",
  path: "v1/answer",
  fields: [
    { name: "question", kind: "line" },
    { name: "context", kind: "lines", rows: 7 },
  ],
  examples: {
    en: [
      {
        question: "Who lit the lamp?",
        context: "It was dark when they reached the hut. Ann lit the lamp while the others looked for wood, and by nine o'clock there was a fire.",
      },
      {
        question: "How high is the mountain?",
        context: "The village lies at the foot of Mount Corra. The mountain is 2,140 metres high and was first climbed in 1871.",
      },
      {
        question: "What does the ticket cost?",
        context: "The ferry runs four times a day from May to September. Bicycles travel free of charge.",
      },
    ],
    zh: [
      { question: "谁点了灯？", context: "他们到小屋时天已经黑了。小安点了灯，其他人去找柴，九点钟就生起了火。" },
      { question: "这座山有多高？", context: "村子在科拉山脚下。这座山高2140米，1871年第一次有人登顶。" },
    ],
  },
  getOne: ["unmask finetune answer -m default --train questions.json -o reader", "unmask serve reader"],
  body: ({ question, context }) => ({ question, context }),
  python: ({ question, context, model }) => ({ name: "answer", given: [question, context], named: { model } }),
  draw,
};

function draw(found, { context }) {
  const sure = make("p", { class: "hint" }, say("answer.none_sure", { percent: percent(found.no_answer_probability) }));
  const spans = found.answer === null ? [] : [found];
  const headline = make("p", { class: "headline" }, found.answer ?? say("answer.none"));
  return [headline, sure, marked(context, spans), ...readings(found.nbest, say("answer.others"))];
}

export function readings(nbest, title) {
  if (!nbest?.length) return [];
  const rows = nbest.slice(0, 5).map((span) => ({ name: span.answer, value: span.score }));
  return [make("h3", {}, title), bars(rows, title)];
}
