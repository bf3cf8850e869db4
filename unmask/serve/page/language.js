// The page's language: the one that was chosen before, else the browser's; `say` gives its words.

import { english } from "./words_en.js";
import { chinese } from "./words_zh.js";

const KEPT = "unmask.language";
export const LANGUAGES = { en: english, zh: chinese };

let current = kept() ?? (navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en");

export function language() {
  return current;
}

export function choose(name) {
  current = name;
  try {
    localStorage.setItem(KEPT, name);
  } catch {
    // A browser that keeps nothing still shows the page.
  }
}

export function say(key, given = {}) {
  const words = LANGUAGES[current][key] ?? english[key] ?? key;
  return words.replace(/\{(\w+)\}/g, (_, name) => given[name] ?? "");
}

function kept() {
  try {
    const name = localStorage.getItem(KEPT);
    return name in LANGUAGES ? name : null;
  } catch {
    return null;
  }
}
