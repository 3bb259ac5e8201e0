/** The theme, as the system or the user chose it. It runs before the page is painted. */

const KEY = "convrag-theme";
const THEMES = ["system", "light", "dark"];

export function readTheme() {
  const stored = localStorage.getItem(KEY);
  return THEMES.includes(stored) ? stored : "system";
}

/** @param {string} theme one of system, light, dark */
export function chooseTheme(theme) {
  localStorage.setItem(KEY, theme);
  document.documentElement.dataset.theme = theme;
}

document.documentElement.dataset.theme = readTheme();
