import { BRACKET } from "../evidence/text/marks";
import type { Span } from "./format";

/** A text's citations as links to their sources. Pure. */

/** @param sources By the numbers that the text cites; the mark of a source without an address stays text. */
export function linkedCitations(
  text: string,
  sources: readonly { id: number; url: string | null }[],
): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const mark of text.matchAll(BRACKET)) {
    const href = addressOf(mark[0], sources);
    if (href === null) continue;
    const words = mark[0].trimStart();
    const begin = mark.index + mark[0].length - words.length;
    spans.push(text.slice(end, begin), { words, href });
    end = begin + words.length;
  }
  return [...spans, text.slice(end)].filter((span) => span !== "");
}

function addressOf(mark: string, sources: readonly { id: number; url: string | null }[]): string | null {
  const id = Number(/\d+/.exec(mark)?.[0]);
  return safeAddress(sources.find((source) => source.id === id)?.url ?? null);
}

/** An address that is safe to link to; the service vouches for no other site's content. */
export function safeAddress(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, username, password, href } = new URL(url);
  // A name before the host would look like another host.
  return protocol === "https:" && username === "" && password === "" ? href : null;
}
