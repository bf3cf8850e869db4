// The server: requests out, answers in; whatever goes wrong becomes a `Problem` with words for people.

import { say } from "./language.js";
import { askForToken, token } from "./token.js";

export class Problem extends Error {
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

export async function ask(path, body, { method = body === undefined ? "GET" : "POST", signal } = {}) {
  for (;;) {
    const response = await send(path, body, method, signal);
    if (response.ok) return response.status === 204 ? null : response.json();
    if (response.status !== 401 || !(await askForToken(token() !== null))) throw await problem(response);
  }
}

async function send(path, body, method, signal) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token()) headers.Authorization = `Bearer ${token()}`;
  const content = body === undefined ? undefined : JSON.stringify(body);
  try {
    return await fetch(path, { method, headers, body: content, signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, say("problem.unreachable"));
  }
}

async function problem(response) {
  let words = "";
  try {
    words = (await response.json()).error.message;
  } catch {
    words = response.statusText;
  }
  const wait = response.headers.get("Retry-After");
  const status = response.status;
  if (status === 429) return new Problem(status, say("problem.busy", { seconds: wait ?? "1" }));
  if (status === 401) return new Problem(status, say("problem.token"));
  if (status >= 500) return new Problem(status, say("problem.server", { words }));
  return new Problem(status, say("problem.asked", { words }));
}
