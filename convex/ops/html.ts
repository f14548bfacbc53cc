import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";

/** HTML as text, with everything that is not markup escaped; and the common parts of all pages. */

export const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 12l4-5 3 3 5-7' fill='none' stroke='%230a6a5f' stroke-width='2'/%3E%3C/svg%3E";

/**
 * Nothing is loaded from elsewhere, and no script runs.
 * @param style The page's exact style.
 * @param forms Where its forms may lead.
 */
export function pageHeaders(style: string, forms: "'self'" | "'none'") {
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

export function escaped(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll("'", "&#39;");
}

/** Plain text whose `code` is in backticks. */
export function prose(text: string): string {
  return escaped(text).replace(/`([^`]+)`/g, "<code>$1</code>");
}

/** A block of code that a keyboard can scroll. */
export function codeBlock(label: string, code: string, tall = false): string {
  const name = tall ? ' class="tall"' : "";
  return `<pre${name} tabindex="0" role="region" aria-label="${escaped(label)}"><code>${escaped(code)}</code></pre>`;
}
