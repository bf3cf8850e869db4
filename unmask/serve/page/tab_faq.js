// The tab of frequent questions: the answer of the one that means the same, or the closest ones to choose from.

import { bars } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./language.js";

export const faq = {
  name: "faq",
  ask: "faq",
  path: "v1/faq",
  fields: [{ name: "question", kind: "line" }],
  examples: {
    en: [{ question: "How do I stop the server?" }, { question: "Can I use it without a GPU?" }],
    zh: [{ question: "怎么停掉服务器？" }, { question: "没有显卡能用吗？" }],
  },
  getOne: ["unmask faq build questions.csv -o faq", "unmask serve faq"],
  body: ({ question }) => ({ question }),
  python: ({ question, model }) => ({ name: "faq", given: [question], named: { model } }),
  draw,
};

function draw({ answer, candidates }) {
  const reply = make("div", { class: "reply" });
  const show = (words) => reply.replaceChildren(make("p", { class: "headline", dir: "auto" }, words));
  show(answer ?? say("faq.none"));
  const rows = candidates.map((candidate) => ({
    name: candidate.question,
    value: candidate.score,
    note: candidate.score.toFixed(2),
    press: () => show(candidate.answer),
  }));
  return [reply, make("h3", {}, say("faq.closest")), bars(rows, say("faq.closest"))];
}
