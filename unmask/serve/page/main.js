// The page: asks the server for its models, and shows the tab that the address names, in the chosen language and colours.

import { answer } from "./tab_answer.js";
import { chat } from "./tab_chat.js";
import { classify } from "./tab_classify.js";
import { documents } from "./tab_documents.js";
import { explain } from "./tab_explain.js";
import { faq } from "./tab_faq.js";
import { fill } from "./tab_fill.js";
import { similar } from "./tab_similar.js";
import { tag } from "./tab_tag.js";
import { freshId, make } from "./elements.js";
import { LANGUAGES, choose, language, say } from "./language.js";
import { panelOf } from "./panel.js";
import { ask } from "./server.js";
import { tabList } from "./tabs.js";
import { THEMES, theme, wear } from "./theme.js";

const TABS = [fill, classify, tag, answer, documents, faq, chat, similar, explain];
const NAMES = { en: "English", zh: "中文" };
const states = new Map(TABS.map((tab) => [tab.name, { values: {} }]));
const part = (id) => document.getElementById(id);
let models = null;
let problem = null;

function shown() {
  const named = TABS.find((tab) => `#${tab.name}` === location.hash);
  const able = TABS.find((tab) => models?.some((model) => model.asks.includes(tab.ask)));
  return named ?? able ?? TABS[0];
}

function draw() {
  document.documentElement.lang = language() === "zh" ? "zh-CN" : "en";
  part("skip").textContent = say("page.skip");
  part("head").replaceChildren(...head());
  part("foot").replaceChildren(...foot());
  drawTab();
}

function drawTab() {
  const tab = shown();
  const panel = part("panel");
  document.title = `${say(`${tab.name}.name`)} · unmask`;
  part("tabs").replaceChildren(tabList(TABS, tab.name, go));
  part(`tab-${tab.name}`).scrollIntoView({ block: "nearest", inline: "nearest" });
  panel.setAttribute("role", "tabpanel");
  panel.setAttribute("aria-labelledby", `tab-${tab.name}`);
  if (problem) panel.replaceChildren(make("p", { class: "problem card", role: "alert" }, problem));
  else if (models) panel.replaceChildren((tab.panel ?? panelOf)(tab, models, states.get(tab.name)));
}

function go(name) {
  if (location.hash !== `#${name}`) history.replaceState(null, "", `#${name}`);
  drawTab();
}

function head() {
  const id = freshId("theme");
  const choice = make("select", { id, onchange: () => wear(choice.value) }, THEMES.map((name) => make("option", { value: name }, say(`page.theme.${name}`))));
  choice.value = theme();
  const languages = Object.keys(LANGUAGES).map((name) =>
    make("button", { type: "button", lang: name, id: `language-${name}`, "aria-pressed": String(name === language()), onclick: () => speak(name) }, NAMES[name]));
  return [
    make("div", { class: "brand" }, make("h1", {}, "unmask"), make("p", { class: "hint" }, say("page.motto"))),
    make("div", { class: "switches" },
      make("div", { class: "languages", role: "group", "aria-label": say("page.language") }, languages),
      make("label", { for: id, class: "hint" }, say("page.theme")), choice),
  ];
}

function foot() {
  return [
    make("p", { class: "hint" }, say("page.private")),
    make("p", { class: "hint" }, make("a", { href: "docs" }, say("page.docs"))),
  ];
}

function speak(name) {
  choose(name);
  draw();
  part(`language-${name}`).focus();
}

async function start() {
  wear(theme());
  draw();
  try {
    models = (await ask("v1/models")).data;
  } catch (error) {
    problem = error.message;
  }
  drawTab();
}

window.addEventListener("hashchange", drawTab);
part("skip").addEventListener("click", (event) => {
  event.preventDefault();  // #panel is no tab
  part("panel").focus();
});
start();
