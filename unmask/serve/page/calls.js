// The call for what was just done, for a terminal and for Python, each with a button that copies it.

import { make } from "./elements.js";
import { say } from "./language.js";
import { token } from "./token.js";

export function callsOf({ path, method = "POST", body, python }) {
  return make(
    "details",
    { class: "calls", open: true },
    make("summary", {}, say("calls.title")),
    listing("curl", curl(path, method, body)),
    python ? listing("Python", pythonCall(python)) : null,
  );
}

function listing(name, words) {
  const button = make("button", { type: "button", class: "quiet", "aria-label": say("calls.copy_of", { name }) });
  button.append(say("calls.copy"));
  button.addEventListener("click", async () => {
    button.textContent = say((await copied(words)) ? "calls.copied" : "calls.not_copied");
    setTimeout(() => { button.textContent = say("calls.copy"); }, 2000);
  });
  return make("figure", {}, make("figcaption", {}, name, button), make("pre", { tabindex: "0" }, make("code", {}, words)));
}

// Beyond this machine without https there is no clipboard for pages; selecting by hand still works there.
async function copied(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    return false;
  }
}

export function curl(path, method, body) {
  const lines = [`curl ${method === "POST" ? "" : `-X ${method} `}${address()}/${path}`];
  if (token()) lines.push(`-H "Authorization: Bearer $UNMASK_TOKEN"`);
  if (body !== undefined) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d '${JSON.stringify(body).replaceAll("'", "'\\''")}'`);
  }
  return lines.join(" \\\n  ");
}

// python: { name, given: [values in order], named: {name: value} }
export function pythonCall({ name, given, named = {} }) {
  const words = [
    ...given.map(literal),
    ...Object.entries(named).filter(([, value]) => value !== undefined).map(([key, value]) => `${key}=${literal(value)}`),
  ];
  const key = token() ? ', token=os.environ["UNMASK_TOKEN"]' : "";
  return [
    ...(token() ? ["import os"] : []),
    "import unmask",
    "",
    `client = unmask.Client(${literal(address())}${key})`,
    `client.${name}(${words.join(", ")})`,
  ].join("\n");
}

function literal(value) {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  return JSON.stringify(value);
}

function address() {
  return new URL(".", document.baseURI).href.replace(/\/$/, "");
}
