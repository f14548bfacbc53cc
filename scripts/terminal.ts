/** The terminal output of the scripts. */

/** Colour only on a terminal, and only if the user allows it (no-color.org). */
const isTerminal = process.stdout.isTTY && !process.env.NO_COLOR;

export const bold = (text: string) => (isTerminal ? `\u001b[1m${text}\u001b[0m` : text);
export const dim = (text: string) => (isTerminal ? `\u001b[2m${text}\u001b[0m` : text);
export const green = (text: string) => (isTerminal ? `\u001b[32m${text}\u001b[0m` : text);
export const red = (text: string) => (isTerminal ? `\u001b[31m${text}\u001b[0m` : text);

/** The next step, as the last line of a command's output. */
export const nextStep = (text: string) => dim(`\nNext: ${text}`);

/** A messenger card (HTML with bold text and links) with a bar on its left. Addresses follow their link texts. */
export function framedCard(html: string): string {
  const addressed = html
    .replace(/<a href="[^"]*">(\[[^<]*\])<\/a>/g, "$1")
    .replace(/<a href="([^"]*)">([^<]*)<\/a>/g, "$2: $1");
  return addressed
    .split("\n")
    .map((line) => `│ ${style(line)}`)
    .join("\n");
}

function style(html: string): string {
  const words = isTerminal ? html.replaceAll("<b>", "\u001b[1m").replaceAll("</b>", "\u001b[0m") : html;
  return unescape(words.replace(/<\/?(?:b|code)>/g, ""));
}

function unescape(text: string): string {
  return text
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}
