// Words in the colours of their scores: blue for, orange against, the deeper the more; focus or hover tells the number.

import { cut } from "./characters.js";
import { make } from "./elements.js";
import { say } from "./language.js";

// words: [{ start, end, score }] of one text
export function coloured(text, words, most, label) {
  const told = make("output", { class: "hint told" });
  const tell = (word, score) => () => { told.textContent = say("explain.word", { word, score: signed(score) }); };
  const inside = cut(text, words).map(([stretch, word]) => (word ? coloured1(stretch, word.score, most, tell) : stretch));
  const paragraph = make("p", { class: "marked coloured", role: "group", "aria-label": say("explain.words", { label }) }, inside);
  paragraph.addEventListener("keydown", walk);
  paragraph.querySelector("span")?.setAttribute("tabindex", "0");
  return make("div", {}, paragraph, told);
}

function coloured1(stretch, score, most, tell) {
  const show = tell(stretch, score);
  const word = make("span", { tabindex: "-1", class: score > 0 ? "for" : "against", title: signed(score), onfocus: show, onmouseenter: show }, stretch);
  word.style.setProperty("--much", `${Math.round((85 * Math.abs(score)) / (most || 1))}%`);
  return word;
}

function walk(event) {
  const words = [...event.currentTarget.querySelectorAll("span")];
  const place = words.indexOf(document.activeElement);
  const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: words.length - 1 }[event.key];
  if (place < 0 || next === undefined || !words[next]) return;
  event.preventDefault();
  words[place].tabIndex = -1;
  words[next].tabIndex = 0;
  words[next].focus();
}

export function signed(score) {
  return `${score > 0 ? "+" : ""}${score.toFixed(3)}`;
}
