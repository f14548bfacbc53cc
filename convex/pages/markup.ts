import { typeset } from "../lib/text/numbers";
import { escaped } from "../ops/html";

/** HTML whose parts are text unless they are HTML themselves, so that a stranger's words never become markup. */
export class Html {
  constructor(readonly text: string) {}
}

export type Part = Html | string | number | null | readonly Part[];

/**
 * The template's own words as HTML, without the source's indentation, and its parts escaped; `null` is nothing, a list is
 * its items one after another.
 */
export function html(words: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const own = words.map((word) => word.replace(/\n +/g, "\n"));
  const text = own.map((word, index) => word + textOf(parts[index] ?? null)).join("");
  return new Html(text);
}

function textOf(part: Part): string {
  if (part === null) return "";
  if (part instanceof Html) return part.text;
  if (typeof part === "string" || typeof part === "number") return escaped(String(part));
  return part.map(textOf).join("");
}

/** HTML whose words have their figures in one style: attributes stay as they are. */
export function typesetWords(text: string): string {
  return text.replace(/>[^<>]+</g, typeset);
}
