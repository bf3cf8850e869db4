// What a tab says where the server has no model for it: that, and a way to get one.

import { make } from "./elements.js";
import { say } from "./language.js";

export function noModel(tab) {
  return make(
    "div",
    { class: "card" },
    make("p", { class: "about" }, say(`${tab.name}.about`)),
    make("h2", {}, say("none.title")),
    make("p", {}, say("none.how")),
    make("pre", { tabindex: "0" }, make("code", {}, tab.getOne.join("\n"))),
  );
}
