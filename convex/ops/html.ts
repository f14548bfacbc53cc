/** HTML as text, with everything that is not markup escaped. */

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
