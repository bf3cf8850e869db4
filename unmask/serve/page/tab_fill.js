// The tab that fills masks: bars of words for each gap; a pressed word goes into the text.

import { bars } from "./bars.js";
import { make } from "./elements.js";
import { say } from "./language.js";
import { marked } from "./marks.js";

export const fill = {
  name: "fill",
  ask: "fill",
  path: "v1/fill",
  fields: [
    { name: "text", kind: "lines", rows: 3, insert: "[MASK]" },
    { name: "top", kind: "number", least: 1, most: 100, value: 5 },
  ],
  examples: {
    en: [
      { text: "The capital of France is [MASK]." },
      { text: "She opened the [MASK] and read a few pages." },
      { text: "He [MASK] the door and [MASK] into the room." },
    ],
    zh: [{ text: "今天天气很[MASK]。" }, { text: "他是一名[MASK]生。" }, { text: "北京是中国的[MASK][MASK]。" }],
  },
  getOne: ["unmask serve default"],
  check: ({ text }) => (text.includes("[MASK]") ? null : say("fill.no_mask")),
  body: ({ text, top }) => ({ text, top: Number(top) || 5 }),
  python: ({ text, top, model }) => ({ name: "fill", given: [text], named: { top, model } }),
  draw,
};

function draw(answer, body, state) {
  const chosen = (state.chosen = state.chosenFor === answer ? state.chosen : answer.masks.map(() => 0));
  state.chosenFor = answer;
  const sentence = make("div", { class: "sentence" });
  const show = () => {
    const put = answer.masks.map((mask, gap) => ({ ...mask, hue: gap % 6, put: mask.candidates[chosen[gap]].token.replace(/^##/, "") }));
    sentence.replaceChildren(marked(answer.text, put));
  };
  show();
  const gaps = answer.masks.map((mask, gap) => {
    const title = say("fill.mask", { number: gap + 1 });
    const rows = mask.candidates.map(({ token, probability }, place) => ({
      name: token,
      value: probability,
      tone: `hue${gap % 6}`,
      press: () => { chosen[gap] = place; show(); },
    }));
    return [answer.masks.length > 1 ? make("h3", {}, title) : null, bars(rows, title)];
  });
  return [sentence, make("p", { class: "hint" }, say("fill.choose")), ...gaps.flat().filter(Boolean)];
}
