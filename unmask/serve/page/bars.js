// Bars: names with numbers between 0 and 1, the longest first as they come; what a bar says is also written.

import { make } from "./elements.js";

// rows: [{ name, value, note?, tone?, press? }]
export function bars(rows, label) {
  return make("ul", { class: "bars", "aria-label": label }, rows.map(bar));
}

function bar({ name, value, note, tone, press }) {
  const length = make("span", { class: `length ${tone ?? ""}` });
  length.style.width = `${Math.max(0, Math.min(1, value)) * 100}%`;
  const title = press
    ? make("button", { type: "button", class: "name link", onclick: press }, name)
    : make("span", { class: "name" }, name);
  return make(
    "li",
    {},
    title,
    make("span", { class: "track", "aria-hidden": "true" }, length),
    make("span", { class: "number" }, note ?? percent(value)),
  );
}

export function percent(value) {
  const digits = value >= 0.1 && value < 0.995 ? 0 : value >= 0.001 ? 1 : 2;
  return `${(100 * value).toFixed(digits)} %`;
}
