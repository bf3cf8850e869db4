// The token of a server that wants one: asked for in a dialog, kept until the browser's tab is closed, never shown again.

import { freshId, make } from "./elements.js";
import { say } from "./language.js";

const KEPT = "unmask.token";

export function token() {
  return sessionStorage.getItem(KEPT);
}

// Asks; true when one was given.
export function askForToken(wasWrong) {
  const id = freshId("token");
  const input = make("input", { id, type: "password", autocomplete: "off", required: true });
  const form = make(
    "form",
    { method: "dialog" },
    make("h2", {}, say("token.title")),
    make("p", {}, say(wasWrong ? "token.wrong" : "token.why")),
    make("label", { for: id }, say("token.label")),
    input,
    make(
      "div",
      { class: "row" },
      make("button", { class: "main", value: "given" }, say("token.go")),
      make("button", { value: "left", formnovalidate: true }, say("token.leave")),
    ),
  );
  const dialog = make("dialog", { class: "card" }, form);
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      const given = dialog.returnValue === "given" && input.value.trim();
      if (given) sessionStorage.setItem(KEPT, given);
      dialog.remove();
      resolve(Boolean(given));
    });
  });
}
