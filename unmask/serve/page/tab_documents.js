// The tab that answers from the server's documents: the answer in its sentence, and the file that it stands in.

import { percent } from "./bars.js";
import { characters } from "./characters.js";
import { make } from "./elements.js";
import { say } from "./language.js";
import { marked } from "./marks.js";
import { readings } from "./tab_answer.js";

export const documents = {
  name: "documents",
  ask: "documents",
  path: "v1/answer",
  fields: [{ name: "question", kind: "line" }],
  examples: {
    en: [{ question: "How is the server stopped?" }, { question: "What does a model folder hold?" }],
    zh: [{ question: "怎样停止服务器？" }, { question: "模型文件夹里有什么？" }],
  },
  getOne: ["unmask documents index my-folder -o my-documents", "unmask serve my-documents"],
  body: ({ question }) => ({ question }),
  python: ({ question, model }) => ({ name: "answer", given: [question], named: { model } }),
  draw,
};

function draw(found) {
  const sure = make("p", { class: "hint" }, say("answer.none_sure", { percent: percent(found.no_answer_probability) }));
  const others = readings(found.nbest, say("documents.others"));
  if (found.answer === null) return [make("p", { class: "headline" }, say("documents.none")), sure, ...others];
  return [
    make("p", { class: "headline" }, found.answer),
    sentence(found),
    make("p", { class: "source" }, say("documents.source", found)),
    sure,
    ...others,
  ];
}

// The answer's sentence with the answer marked in it.
function sentence({ sentence: words, answer }) {
  if (!words) return null;
  const before = words.indexOf(answer);
  if (before < 0) return marked(words, []);
  const start = characters(words.slice(0, before)).length;
  return marked(words, [{ start, end: start + characters(answer).length }]);
}
