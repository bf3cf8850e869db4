// Places in a text as the server counts them: in characters, where JavaScript counts 😀 twice.

export function characters(text) {
  return Array.from(text);
}

export function slice(text, start, end) {
  return characters(text).slice(start, end).join("");
}

// Cuts a text at spans {start, end, …}: [["before ", null], ["Ann", span], [" after", null]]; overlaps are left out.
export function cut(text, spans) {
  const letters = characters(text);
  const parts = [];
  let done = 0;
  for (const span of [...spans].sort((one, other) => one.start - other.start)) {
    if (span.start < done) continue;
    if (span.start > done) parts.push([letters.slice(done, span.start).join(""), null]);
    parts.push([letters.slice(span.start, span.end).join(""), span]);
    done = span.end;
  }
  if (done < letters.length) parts.push([letters.slice(done).join(""), null]);
  return parts;
}
