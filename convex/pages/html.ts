import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { DARK, LIGHT } from "../pictures/colours";

/** The icon, headers, colours and typefaces of all HTML of the service. */

export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 12l4-5 3 3 5-7' fill='none' stroke='%230a6a5f' stroke-width='2'/%3E%3C/svg%3E";

const hashOf = (text: string) => `'sha256-${btoa(String.fromCharCode(...sha256(utf8ToBytes(text))))}'`;

/** Nothing is loaded from elsewhere, and nothing runs but a page's exact script, which reads this service alone. */
export function buildPageHeaders(style: string, script: string) {
  return {
    "Cache-Control": "public, max-age=60",
    "Content-Security-Policy": [
      "default-src 'none'",
      `style-src ${hashOf(style)}`,
      `script-src ${hashOf(script)}`,
      "connect-src 'self'",
      "img-src data:",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
    ].join("; "),
    "Referrer-Policy": "no-referrer",
  };
}

/** Colours as the variables of a style: `--ink: #1f2430; …`. */
function formatVariables(colours: Readonly<Record<string, string>>): string {
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
