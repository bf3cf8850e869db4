// The tab that finds entities: the text with each marked by its type, and a list of them.

import { percent } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./language.js";
import { huesOf, marked } from "./marks.js";

export const tag = {
  name: "tag",
  ask: "tag",
  path: "v1/tag",
  fields: [{ name: "text", kind: "lines", rows: 5 }],
  examples: {
    en: [
      { text: "Ann Lee moved from Oslo to Lima and works for Northern Rail." },
      { text: "The United Nations met in Geneva on Monday, said Peter Novak." },
    ],
    zh: [{ text: "李安从北京搬到上海，在中国银行工作。" }, { text: "王小明去年访问了清华大学。" }],
  },
  getOne: ["unmask finetune tag -m default --train tagged.conll -o names", "unmask serve names"],
  body: ({ text }) => ({ text }),
  python: ({ text, model }) => ({ name: "tag", given: [text], named: { model } }),
  draw,
};

function draw({ entities }, { text }) {
  if (!entities.length) return [marked(text, []), make("p", {}, say("tag.none"))];
  const hues = huesOf(entities.map((entity) => entity.type));
  const spans = entities.map((entity) => ({ ...entity, kind: entity.type, hue: hues.get(entity.type), title: `${entity.type} ${percent(entity.score)}` }));
  const rows = entities.map((entity) =>
    make("li", {}, make("span", { class: `kind hue${hues.get(entity.type)}` }, entity.type), ` ${entity.text} `, make("span", { class: "number" }, percent(entity.score))));
  return [marked(text, spans), make("h3", {}, say("tag.found")), make("ul", { class: "plain" }, rows)];
}
