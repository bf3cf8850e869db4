// The row of tabs, as the ARIA practices describe it: arrow keys go along, Home and End to its ends; #name is the address.

import { make } from "./elements.js";
import { say } from "./language.js";

export function tabList(tabs, chosen, choose) {
  const buttons = tabs.map((tab) => {
    const selected = tab.name === chosen;
    return make(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${tab.name}`,
        "aria-selected": String(selected),
        "aria-controls": "panel",
        tabindex: selected ? "0" : "-1",
        onclick: () => choose(tab.name),
      },
      say(`${tab.name}.name`),
    );
  });
  const list = make("div", { role: "tablist", "aria-label": say("page.tabs") }, buttons);
  list.addEventListener("keydown", (event) => {
    const place = buttons.indexOf(document.activeElement);
    const next = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: buttons.length - 1 }[event.key];
    if (next === undefined || place < 0) return;
    event.preventDefault();
    const tab = tabs[(next + tabs.length) % tabs.length];
    choose(tab.name);
    document.getElementById(`tab-${tab.name}`).focus();
  });
  return list;
}
