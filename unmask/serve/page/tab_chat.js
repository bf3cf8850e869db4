// The tab of conversations: bubbles, a line to write in, and the conversation's name kept for this tab of the browser.

import { callsOf } from "./calls.js";
import { freshId, make } from "./elements.js";
import { formOf } from "./form.js";
import { say } from "./language.js";
import { noModel } from "./no_model.js";
import { ask } from "./server.js";

const KEPT = "unmask.conversation";

export const chat = {
  name: "chat",
  ask: "chat",
  path: "v1/chat",
  go: "chat.send",
  fields: [{ name: "text", kind: "line" }],
  examples: {
    en: [{ text: "Hello!" }, { text: "Who are you?" }, { text: "What can you do?" }],
    zh: [{ text: "你好！" }, { text: "你是谁？" }, { text: "你会做什么？" }],
  },
  getOne: ["unmask chat train dialogues.jsonl -o chat", "unmask serve chat"],
  panel,
};

function panel(tab, models, state) {
  const fitting = models.filter((model) => model.asks.includes(tab.ask));
  if (!fitting.length) return noModel(tab);
  state.turns ??= [];
  const view = viewOf(state);
  const form = formOf(tab, fitting, state, () => send(fitting, state, view, form));
  if (!state.restored) restore(state, view);
  view.show();
  return make("div", { class: "panel talk" }, make("section", { class: "card" }, view.log), form, view.below);
}

// What changes as the conversation goes on: the bubbles, and below them the call and the button that deletes.
function viewOf(state) {
  const log = make("div", { class: "chat", role: "log", "aria-label": say("chat.log"), tabindex: "0" });
  const below = make("section", { class: "card" });
  const show = () => {
    log.replaceChildren(...(state.turns.length ? state.turns.map(bubble) : [make("p", { class: "hint" }, say("chat.empty"))]));
    log.scrollTop = log.scrollHeight;
    below.replaceChildren(...belowOf(state, show));
    below.hidden = !state.last;
  };
  return { log, below, show };
}

function bubble({ mine, text, source, again, problem }) {
  if (problem) return make("p", { class: "problem", role: "alert" }, problem);
  const id = freshId("turn");
  return make(
    "div",
    { class: `bubble ${mine ? "mine" : "its"}` },
    make("span", { class: "who", id }, say(mine ? "chat.you" : "chat.it"), source ? ` · ${say(`chat.source.${source}`)}` : ""),
    make("p", { "aria-labelledby": id, dir: "auto" }, text ?? say(again ? "chat.again" : "chat.none")),
  );
}

function belowOf(state, show) {
  if (!state.last) return [];
  const remove = make("button", { type: "button", class: "quiet", onclick: () => forget(state, show) }, say("chat.delete"));
  const { body } = state.last;
  const named = { conversation: body.conversation, model: body.model };
  return [remove, callsOf({ path: "v1/chat", body, python: { name: "chat", given: [body.text], named } })];
}

async function send(models, state, view, form) {
  const text = state.values.text.trim();
  if (!text || state.waiting) return;
  const body = { text, ...(state.conversation ? { conversation: state.conversation } : {}), ...(models.length > 1 ? { model: state.model } : {}) };
  state.waiting = true;
  state.turns.push({ mine: true, text });
  state.values.text = "";
  form.querySelector("input[name=text]").value = "";
  view.show();
  try {
    const found = await asked(body, state);
    state.turns.push({ text: found.answer, source: found.source, again: found.again });
    keep(state, found.conversation);
    state.last = { body };
  } catch (error) {
    state.turns.push({ problem: error.message });
  }
  state.waiting = false;
  view.show();
  form.querySelector("input[name=text]").focus();
}

// A conversation that has expired meanwhile is begun anew.
async function asked(body, state) {
  try {
    return await ask("v1/chat", body);
  } catch (error) {
    if (error.status !== 404 || !body.conversation) throw error;
    delete body.conversation;
    state.turns.splice(-1, 0, { problem: say("chat.gone") });
    return ask("v1/chat", body);
  }
}

async function forget(state, show) {
  try {
    await ask(`v1/chat/${state.conversation}`, undefined, { method: "DELETE" });
    state.turns = [{ problem: say("chat.deleted") }];
  } catch (error) {
    state.turns.push({ problem: error.message });
  }
  keep(state, null);
  state.last = null;
  show();
}

async function restore(state, view) {
  state.restored = true;
  const kept = sessionStorage.getItem(KEPT);
  if (!kept) return;
  try {
    const { turns } = await ask(`v1/chat/${kept}`);
    state.turns = turns.map(({ speaker, text }) => ({ mine: speaker === "user", text }));
    state.conversation = kept;
    view.show();
  } catch {
    keep(state, null);
  }
}

function keep(state, conversation) {
  state.conversation = conversation;
  if (conversation) sessionStorage.setItem(KEPT, conversation);
  else sessionStorage.removeItem(KEPT);
}
