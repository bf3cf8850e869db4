// A tab's form: its fields, examples to press, a choice of models where several fit; values out when it is sent.

import { freshId, make } from "./elements.js";
import { language, say } from "./language.js";

// tab: { name, fields: [{ name, kind: "line" | "lines" | "number" | "choice" | "check", optional?, more?, choices?, … }], examples }
// state: { values, model } is kept by the caller, so that a change of language loses nothing.
export function formOf(tab, models, state, send) {
  const inputs = new Map(tab.fields.map((field) => [field.name, inputOf(tab, field, state)]));
  const button = make("button", { class: "main", type: "submit" }, say(tab.go ?? "form.go"));
  const form = make(
    "form",
    { class: "card", "aria-label": say(`${tab.name}.name`) },
    make("p", { class: "about" }, say(`${tab.name}.about`)),
    examplesOf(tab, inputs, state, () => form.requestSubmit()),
    tab.fields.filter((field) => !field.more).map((field) => labelled(tab, field, inputs.get(field.name), state)),
    moreOf(tab, inputs, state),
    models.length > 1 ? modelChoice(models, state) : null,
    make("div", { class: "row" }, button, make("span", { class: "hint" }, say("form.keys"))),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(button);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  return form;
}

function inputOf(tab, field, state) {
  const id = freshId(field.name);
  const held = field.kind === "check" ? "checked" : "value";
  const kept = () => { state.values[field.name] = input[held]; };
  const shared = { id, name: field.name, oninput: kept, onchange: kept };
  let input;
  if (field.kind === "lines") input = make("textarea", { ...shared, rows: field.rows ?? 4, dir: "auto" });
  else if (field.kind === "number") input = make("input", { ...shared, type: "number", min: field.least, max: field.most, step: field.step });
  else if (field.kind === "check") input = make("input", { ...shared, type: "checkbox" });
  else if (field.kind === "choice") input = make("select", shared, field.choices.map((value) => option(value, say(`${tab.name}.${field.name}.${value}`))));
  else input = make("input", { ...shared, type: "text", dir: "auto", autocomplete: "off" });
  state.values[field.name] ??= field.value ?? "";
  input[held] = state.values[field.name];
  return input;
}

function labelled(tab, field, input, state) {
  if (field.kind === "check") return make("div", { class: "check" }, input, make("label", { for: input.id }, say(`${tab.name}.${field.name}`)));
  const insert = field.insert
    ? make("button", { type: "button", class: "quiet", onclick: () => insertAt(input, field.insert, state) }, say(`${tab.name}.put`))
    : null;
  return make(
    "div",
    { class: "field" },
    make("div", { class: "row" }, make("label", { for: input.id }, say(`${tab.name}.${field.name}`)), insert),
    input,
  );
}

// What most people leave empty is folded away until it is wanted or filled.
function moreOf(tab, inputs, state) {
  const fields = tab.fields.filter((field) => field.more);
  if (!fields.length) return null;
  const used = fields.some((field) => state.values[field.name] !== (field.value ?? ""));
  return make(
    "details",
    { open: used },
    make("summary", {}, say("form.more")),
    make("div", { class: "more" }, fields.map((field) => labelled(tab, field, inputs.get(field.name), state))),
  );
}

function insertAt(input, words, state) {
  input.setRangeText(words, input.selectionStart, input.selectionEnd, "end");
  state.values[input.name] = input.value;
  input.focus();
}

function examplesOf(tab, inputs, state, send) {
  const other = language() === "zh" ? "en" : "zh";
  const examples = [...tab.examples[language()], ...tab.examples[other].slice(0, 1)];
  const press = (example) => () => {
    for (const [name, input] of inputs) {
      if (input.tagName === "SELECT" || input.type === "number" || input.type === "checkbox") continue;
      input.value = state.values[name] = example[name] ?? "";
    }
    send();
  };
  const title = freshId("examples");
  return make(
    "div",
    { class: "examples", role: "group", "aria-labelledby": title },
    make("span", { id: title, class: "hint" }, say("form.examples")),
    examples.map((example) => make("button", { type: "button", class: "chip", dir: "auto", onclick: press(example) }, shortened(example[tab.shows ?? tab.fields[0].name]))),
  );
}

function modelChoice(models, state) {
  const id = freshId("model");
  const choice = make("select", { id, name: "model", onchange: () => { state.model = choice.value; } }, models.map((model) => option(model.id, `${model.id} (${model.engine})`)));
  if (!models.some((model) => model.id === state.model)) state.model = models[0].id;
  choice.value = state.model;
  return make("div", { class: "field" }, make("label", { for: id }, say("form.model")), choice);
}

function option(value, words) {
  return make("option", { value }, words);
}

function shortened(words) {
  const letters = Array.from(words);
  return letters.length > 40 ? `${letters.slice(0, 38).join("")}…` : words;
}
