// The panel of a tab that asks and is answered: the form on one side, the answer and its call on the other.

import { callsOf } from "./calls.js";
import { make } from "./elements.js";
import { formOf } from "./form.js";
import { say } from "./language.js";
import { noModel } from "./no_model.js";
import { ask } from "./server.js";

// tab: what `formOf` reads, and { ask, path, check?, body, python, draw }.
export function panelOf(tab, models, state) {
  const fitting = models.filter((model) => model.asks.includes(tab.ask));
  if (!fitting.length) return noModel(tab);
  const result = make("section", { class: "card result", "aria-label": say("form.result"), "aria-live": "polite" });
  const form = formOf(tab, fitting, state, (button) => submit(tab, fitting, state, result, button));
  show(tab, state, result);
  return make("div", { class: "panel" }, form, result);
}

async function submit(tab, models, state, result, button) {
  const problem = missing(tab, state.values) ?? tab.check?.(state.values);
  if (problem) {
    state.done = { problem };
    show(tab, state, result);
    return;
  }
  state.asking?.abort();
  const asking = new AbortController();
  state.asking = asking;
  const model = models.length > 1 ? state.model : undefined;
  const body = { ...tab.body(state.values), ...(model === undefined ? {} : { model }) };
  const started = performance.now();
  busy(button, result, true);
  try {
    const answer = await ask(tab.path, body, { signal: asking.signal });
    const ms = Math.round(performance.now() - started);
    state.done = { answer, body, took: { model: model ?? models[0].id, ms } };
  } catch (error) {
    if (error.name === "AbortError") return;
    state.done = { problem: error.message, body };
  } finally {
    if (state.asking === asking) busy(button, result, false);
  }
  show(tab, state, result);
  if (result.getBoundingClientRect().top > innerHeight / 2) result.scrollIntoView();  // below the form on a phone
}

function missing(tab, values) {
  const empty = tab.fields.find((field) => !field.optional && !String(values[field.name]).trim());
  return empty && say("form.empty", { field: say(`${tab.name}.${empty.name}`) });
}

function busy(button, result, whether) {
  result.setAttribute("aria-busy", whether);
  button.textContent = say(whether ? "form.busy" : "form.go");
}

function show(tab, state, result) {
  const { answer, problem, body, took } = state.done ?? {};
  if (problem) result.replaceChildren(make("p", { class: "problem", role: "alert" }, problem));
  else if (answer) result.replaceChildren(...tab.draw(answer, body, state), make("p", { class: "hint took" }, say("form.took", took)));
  else result.replaceChildren(make("p", { class: "hint" }, say("form.waiting")));
  if (body) result.append(callsOf({ path: tab.path, body, python: tab.python(body) }));
}
