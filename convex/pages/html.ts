import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";

/** The icon, headers, colours and typefaces of all HTML of the service. */

export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 12l4-5 3 3 5-7' fill='none' stroke='%230a6a5f' stroke-width='2'/%3E%3C/svg%3E";

/**
 * Nothing is loaded from elsewhere, and no script runs.
 * @param style The page's exact style.
 * @param forms Where its forms may lead.
 */
export function buildPageHeaders(style: string, forms: "'self'" | "'none'") {
  return {
    "Cache-Control": "public, max-age=60",
    "Content-Security-Policy": [
      "default-src 'none'",
      `style-src 'sha256-${btoa(String.fromCharCode(...sha256(utf8ToBytes(style))))}'`,
      "img-src data:",
      "base-uri 'none'",
      `form-action ${forms}`,
      "frame-ancestors 'none'",
    ].join("; "),
    "Referrer-Policy": "no-referrer",
  };
}

const LIGHT = {
  paper: "#fbfaf7",
  raised: "#ffffff",
  ink: "#1f2430",
  soft: "#5a6272",
  line: "#e4e1da",
  accent: "#0a6a5f",
  "accent-soft": "#e3f1ee",
  post: "#6a4310",
  "post-soft": "#f7ecd9",
  code: "#f3f1ec",
  need: "#a3312a",
  shade: "#c9c3b6",
};

export const DARK: typeof LIGHT = {
  paper: "#12151a",
  raised: "#181c23",
  ink: "#e6e8ec",
  soft: "#a3abb8",
  line: "#2a303a",
  accent: "#6fd0bf",
  "accent-soft": "#15302d",
  post: "#eec07c",
  "post-soft": "#34281a",
  code: "#1b2028",
  need: "#ff9d92",
  shade: "#4a5363",
};

/** Colours as the variables of a style: `--ink: #1f2430; …`. */
export function formatVariables(colours: Readonly<Record<string, string>>): string {
  return Object.entries(colours)
    .map(([name, colour]) => `--${name}: ${colour};`)
    .join(" ");
}

export const PALETTE = `:root {
  color-scheme: light dark;
  ${formatVariables(LIGHT)}
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root { ${formatVariables(DARK)} }
}
* { box-sizing: border-box; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.18em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
.skip { position: absolute; left: -999px; }
.skip:focus { left: 1rem; top: 1rem; z-index: 2; padding: 0.5rem 1rem; background: var(--raised); }
`;
