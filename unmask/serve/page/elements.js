// Elements of the page: a tag, its attributes and what is inside, in one call. Text is only ever put in as text.

export function make(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(2).filter((part) => part !== undefined && part !== null));
  return element;
}

let made = 0;

export function freshId(word) {
  made += 1;
  return `${word}-${made}`;
}
