import { CITATION } from "../lib/text/strings";
import { spanText, type Paragraph, type Span } from "./format";

/**
 * A model's words as a card's paragraphs. Its marks become spans: bold, code, lists; a heading is a bold line, a table's
 * row a line. A link's words stay, its address goes: only the address of a source that the words cite becomes a link.
 * Pure.
 */

type Source = { id: number; url: string | null };

/** @returns No paragraphs for words of which nothing can be seen. */
export function wordsAsParagraphs(text: string, sources: readonly Source[]): Paragraph[] {
  const paragraphs: Span[][] = [];
  let isCode = false;
  let isNew = true;
  for (const line of text.replace(UNSEEN, "").split("\n")) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode;
      continue;
    }
    const spans: Span[] = isCode ? (line.trim() === "" ? [] : [{ code: line }]) : lineOf(line, sources);
    if (spans.length === 0) {
      // The line under a table's heads is no end of a paragraph.
      if (!RULE.test(line)) isNew = true;
      continue;
    }
    const last = paragraphs.at(-1);
    if (isNew || last === undefined) paragraphs.push(spans);
    else last.push("\n", ...spans);
    isNew = false;
  }
  return paragraphs;
}

/** Control characters, and what cannot be seen: joiners, marks of direction, tags. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115F\u1160\u3164]|\p{Variation_Selector}/gu;
/** `|---|:--:|`, `---`, `***`: lines that only draw. */
const RULE = /^\s*(?:\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*\|?|[*_-](?:\s*[*_-]){2,})\s*$/;

function lineOf(line: string, sources: readonly Source[]): Span[] {
  if (RULE.test(line)) return [];
  const [, heading] = /^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$/.exec(line) ?? [];
  if (heading !== undefined) return [{ bold: plain(heading) }];
  const cells = /^\s*\|(.*?)\|?\s*$/.exec(line)?.[1]?.split("|");
  if (cells !== undefined && cells.length > 1) {
    const words = cells.map((cell) => cell.trim()).filter((cell) => cell !== "");
    return inline(words.join(" · "), sources);
  }
  const quoted = line.replace(/^\s*(?:>\s?)+/, "");
  return inline(quoted.replace(/^(\s*)[-*+]\s+(?:\[[ x]\]\s+)?/i, "$1• ").trimEnd(), sources);
}

/** Bold and code; links without their addresses; the rest as it is. */
const MARKED =
  /(`+)(?<code>.+?)\1|(\*\*|__)(?=\S)(?<bold>.+?)\3|!?\[(?<words>[^\]]*)\]\((?:[^()\s]|\([^)]*\))*(?:\s+"[^"]*")?\)/gu;

function inline(text: string, sources: readonly Source[]): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const mark of text.matchAll(MARKED)) {
    spans.push(...linkedCitations(withoutEmphasis(text.slice(end, mark.index)), sources));
    const { code, bold, words } = mark.groups ?? {};
    if (code !== undefined) spans.push({ code: code.trim() });
    else if (bold !== undefined) spans.push({ bold: plain(bold) });
    else spans.push(withoutEmphasis(words ?? ""));
    end = mark.index + mark[0].length;
  }
  spans.push(...linkedCitations(withoutEmphasis(text.slice(end)), sources));
  return spans.filter((span) => typeof span !== "string" || span !== "");
}

/** Words without any mark. */
const plain = (text: string): string => inline(text, []).map(spanText).join("");

/** `*so*`, `_so_` and `~~so~~`; a star or a line inside a word, or alone, is one. */
function withoutEmphasis(text: string): string {
  return text
    .replace(/~~(?=\S)(.+?)~~/gu, "$1")
    .replace(/(?<![\p{L}\p{N}*_])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\p{L}\p{N}*_])/gu, "$2");
}

/** A text's citations as links. @param sources By the numbers that it cites; one without an address stays text. */
export function linkedCitations(text: string, sources: readonly Source[]): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const mark of text.matchAll(CITATION)) {
    const id = Number(/\d+/.exec(mark[0])?.[0]);
    const href = safeAddress(sources.find((source) => source.id === id)?.url ?? null);
    if (href === null) continue;
    const words = mark[0].trimStart();
    const begin = mark.index + mark[0].length - words.length;
    spans.push(text.slice(end, begin), { words, href });
    end = begin + words.length;
  }
  return [...spans, text.slice(end)].filter((span) => span !== "");
}

/** An address that is safe to link to; the service vouches for no other site's content. */
export function safeAddress(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, username, password, href } = new URL(url);
  // A name before the host would look like another host.
  return protocol === "https:" && username === "" && password === "" ? href : null;
}
