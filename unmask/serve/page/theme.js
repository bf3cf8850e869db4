// Light or dark: as the system has it, unless chosen otherwise.

const KEPT = "unmask.theme";
export const THEMES = ["auto", "light", "dark"];

export function theme() {
  try {
    const name = localStorage.getItem(KEPT);
    return THEMES.includes(name) ? name : "auto";
  } catch {
    return "auto";
  }
}

export function wear(name) {
  if (name === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem(KEPT, name);
  } catch {
    // Worn for this visit only.
  }
}
