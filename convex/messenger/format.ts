import type { Infer } from "convex/values";
import { type ErrorCode, STATUS } from "../lib/errors";
import { typeset } from "../lib/text/numbers";
import { CITATION, trimTrailing } from "../lib/text/strings";
import type { vButton, vSpan } from "./tables";

/**
 * Message cards: paragraphs of plain text with bold spans, links and commands, rendered to the messenger's HTML and packed
 * into parts. Escaping happens only here; spans end with their line, so parts never cut through a tag. Text is untrusted (a
 * model, a headline, an anonymous caller), so it never becomes a link, a name or a command: those are spans of their own.
 */

export type Span = Infer<typeof vSpan>;
export type Button = Infer<typeof vButton>;

/** Spans in a row; a paragraph of several lines has "\n" in its text. */
export type Paragraph = readonly Span[];

/**
 * The messenger refuses messages beyond 4,096 characters. It counts the text without tags, so counting the HTML without
 * the tags of links is safe; the rest is room for a mark (`markForeign`).
 */
export const PART_LIMIT = 3_900;

/** A picture's caption, in characters after its entities; the rest of 1,024 is room for a mark. */
const CAPTION_LIMIT = 880;

/**
 * Marks above the default bot's cards to a chat whose owner has not confirmed it. People trust a bot that they have
 * started, and any caller can invent a `userId` and name their chat.
 */
const EXTERNAL_MARK =
  "<b>✉️ Not from this service</b>\nSomebody who named this chat as theirs sends this through the bot:";
const UNCONFIRMED_MARK =
  "✉️ This chat was named for an account of this service. If it is not yours, ignore this.";

/** A part of a card with its mark. @param isExternal Whether the text is the caller's, not the service's. */
export function markUnconfirmed(html: string, isExternal: boolean): string {
  return [isExternal ? EXTERNAL_MARK : UNCONFIRMED_MARK, html].filter((text) => text !== "").join(GAP);
}

/**
 * The parts of a card with a picture: the first is the picture's caption. Text that does not fit follows a picture
 * without a caption.
 */
export function withPicture(parts: readonly string[]): string[] {
  const [first = "", ...others] = parts;
  return others.length === 0 && toPlainText(first).length <= CAPTION_LIMIT ? [first] : ["", ...parts];
}

/** A span's text, without markup. */
export function getSpanText(span: Span): string {
  if (typeof span === "string") return span;
  if ("command" in span) return `/${span.command}`;
  if ("code" in span) return span.code;
  return "bold" in span ? span.bold : span.words;
}

/**
 * Character sequences that the messenger would turn into a link, a name or a command: a dot inside a word (`evil.tech`,
 * with any ending, also in another script), the first dot of an IPv4 address, `://`, `@name`, and a slash that begins a
 * word. The messenger recognises them only directly before the rest of the link, name or command.
 */
const ACTIVE =
  /[.\u3002\uFF0E\uFF61](?=[^\s\p{Nd}\p{P}])|\.(?=\d{1,3}\.\d{1,3}\.\d)|:(?=\/\/)|@(?=\w)|(?<![\p{L}\p{N}_<>])\/(?=\w)/gu;
/** Invisible, and not part of any address. */
const WORD_JOINER = "\u2060";

/** All characters that `ACTIVE` starts with. Most spans have none, and skip the search. */
const SIGNS = /[.\u3002\uFF0E\uFF61:@/]/;

/** The number of following characters that decide whether a sequence is active. */
const BEHIND = 16;

/** A text without active sequences. @param getBehind The rest of the line: a name may continue in the next span. */
function neutralize(text: string, getBehind: () => string): string {
  if (!SIGNS.test(text)) return text;
  const behind = getBehind();
  const broken = (text + behind).replace(ACTIVE, (sign, at: number) =>
    at < text.length ? sign + WORD_JOINER : sign,
  );
  return broken.slice(0, broken.length - behind.length);
}

const GAP = "\n\n";

/** @returns The card as messages of at most 4,096 characters, cut between paragraphs if they fit, otherwise between lines. */
export function renderCard(paragraphs: readonly Paragraph[]): string[] {
  return packPieces(
    paragraphs.flatMap((paragraph) => {
      const spans = paragraph.map(typesetSpan);
      const html = renderSpans(spans);
      return fits(html) ? [html] : packPieces(splitSpans(spans).flatMap(splitLine), "\n");
    }),
    GAP,
  );
}

/** Figures in the one style of the service, also in untrusted texts. */
function typesetSpan(span: Span): Span {
  if (typeof span === "string") return typeset(span);
  if ("bold" in span) return { bold: typeset(span.bold) };
  return "words" in span ? { ...span, words: typeset(span.words) } : span;
}

/** Joins pieces with a gap into as few parts as fit. Each piece is measured once: a text may have a line per letter. */
function packPieces(pieces: readonly string[], gap: string): string[] {
  const parts: { pieces: string[]; length: number }[] = [];
  for (const piece of pieces.filter((one) => one !== "")) {
    const last = parts.at(-1);
    const length = measureLength(piece);
    if (last !== undefined && last.length + gap.length + length <= PART_LIMIT) {
      last.pieces.push(piece);
      last.length += gap.length + length;
    } else parts.push({ pieces: [piece], length });
  }
  return parts.map((part) => part.pieces.join(gap));
}

/** A part's length without the tags of its links, whose addresses are long. */
function measureLength(html: string): number {
  return html.replace(/<a href="[^"]*">|<\/a>/g, "").length;
}

const fits = (html: string): boolean => measureLength(html) <= PART_LIMIT;

/** A part's text without markup. */
export function toPlainText(html: string): string {
  return html
    .replace(/<\/?(?:b|code)>|<a href="[^"]*">|<\/a>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

/** The lines of a paragraph: a text with line breaks continues in the next line, in its style. */
function splitSpans(spans: readonly Span[]): Span[][] {
  const lines: Span[][] = [[]];
  for (const span of spans) {
    const isBold = typeof span === "object" && "bold" in span;
    const isText = isBold || typeof span === "string";
    const [first = "", ...rest] = isText ? getSpanText(span).split("\n") : [];
    const styleText = (text: string): Span => (isBold ? { bold: text } : text);
    lines.at(-1)?.push(isText ? styleText(first) : span);
    lines.push(...rest.map((text) => [styleText(text)]));
  }
  return lines;
}

/** A line's HTML, in pieces if it is longer than a part. */
function splitLine(line: readonly Span[]): string[] {
  const html = renderSpans(line);
  return fits(html) ? [html] : splitInTwo(line.map(getSpanText).join("")).map((text) => renderSpans([text]));
}

/** Cuts a text in two until its pieces fit: after a sentence, otherwise at a space, otherwise anywhere. */
function splitInTwo(text: string): string[] {
  if (text.length < 2 || (text.length <= PART_LIMIT && fits(renderSpans([text])))) return [text];
  const most = Math.min(PART_LIMIT, Math.floor(text.length * 0.9) || 1);
  const head = text.slice(0, most);
  const sentence = /^[^]*[.!?]\s/.exec(head)?.[0].length ?? 0;
  const space = Math.max(head.lastIndexOf(" "), head.lastIndexOf("\n")) + 1;
  // A pictogram may consist of two code units.
  const anywhere = /.[\uD800-\uDBFF]$/s.test(head) ? most - 1 : most;
  const cut = sentence || space || anywhere;
  return [...splitInTwo(text.slice(0, cut)), ...splitInTwo(text.slice(cut))];
}

function renderSpans(spans: readonly Span[]): string {
  const behind = (at: number) => {
    let text = "";
    for (let next = at + 1; next < spans.length && text.length < BEHIND; next++)
      text += getSpanText(spans[next] ?? "").slice(0, BEHIND);
    return text;
  };
  return spans
    .map((span, at) => renderSpan(span, () => behind(at)))
    .join("")
    .trim();
}

function renderSpan(span: Span, getBehind: () => string): string {
  const text = getSpanText(span);
  if (text === "") return "";
  if (typeof span === "object" && "command" in span && COMMAND.test(text)) return text;
  const html = escape(neutralize(text, getBehind));
  if (typeof span === "string" || "command" in span) return html;
  if ("code" in span) return `<code>${escape(text)}</code>`;
  return "bold" in span
    ? `<b>${html}</b>`
    : `<a href="${escape(span.href).replaceAll('"', "&quot;")}">${html}</a>`;
}

const COMMAND = /^\/[a-z0-9_]{1,32}$/;

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

type Source = { id: number; url: string | null };

/**
 * A model's text as a card's paragraphs. Markdown becomes spans: bold, code, lists; a heading is a bold line, a table's
 * row a line. A link keeps its text and loses its address: only the address of a cited source becomes a link.
 * @returns No paragraphs for a text without visible characters.
 */
export function toParagraphs(text: string, sources: readonly Source[]): Paragraph[] {
  const paragraphs: Span[][] = [];
  let isCode = false;
  let isNew = true;
  for (const line of text.replace(UNSEEN, "").split("\n")) {
    if (/^\s*(?:```|~~~)/.test(line)) {
      isCode = !isCode;
      continue;
    }
    const spans: Span[] = isCode ? (line.trim() === "" ? [] : [{ code: line }]) : parseLine(line, sources);
    if (spans.length === 0) {
      // The rule under a table's header does not end a paragraph.
      if (!isRule(line)) isNew = true;
      continue;
    }
    const last = paragraphs.at(-1);
    if (isNew || last === undefined) paragraphs.push(spans);
    else last.push("\n", ...spans);
    isNew = false;
  }
  return paragraphs;
}

/** Control characters and invisible ones: joiners, direction marks, tags. */
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115F\u1160\u3164]|\p{Variation_Selector}/gu;
/** Whether a line only draws a rule: `|---|:--:|`, `---`, `***`. */
function isRule(line: string): boolean {
  const drawn = line.replace(/\s+/g, "");
  return /^[*_-]{3,}$/.test(drawn) || /^\|?:?-{2,}:?(?:\|:?-{2,}:?)*\|?$/.test(drawn);
}

/** A line without any of these characters has no markup. */
const MARKUP = /[`*_~#|>[\]+!-]/;

function parseLine(line: string, sources: readonly Source[]): Span[] {
  if (!MARKUP.test(line)) return line.trim() === "" ? [] : [line.trimEnd()];
  if (isRule(line)) return [];
  const trimmed = line.trim();
  if (/^\s{0,3}#{1,6}\s/.test(line) && /[^#\s]/.test(trimmed)) {
    const heading = trimTrailing(trimmed.replace(/^#+/, ""), "#").trim();
    return [{ bold: stripMarks(heading) }];
  }
  const cells = trimmed.startsWith("|") ? trimmed.slice(1).replace(/\|$/, "").split("|") : [];
  if (cells.length > 1) {
    const texts = cells.map((cell) => cell.trim()).filter((cell) => cell !== "");
    return parseInline(texts.join(" · "), sources);
  }
  const quoted = line.replace(/^\s*(?:>\s?)+/, "");
  return parseInline(quoted.replace(/^(\s*)[-*+]\s+(?:\[[ x]\]\s+)?/i, "$1• ").trimEnd(), sources);
}

/** Bold, code, and links without their addresses; the rest unchanged. */
const MARKED =
  /(?<!`)(`{1,3})(?!`)(?<code>(?:[^`]|(?!\1)`)+)\1(?!`)|(\*\*|__)(?=\S)(?<bold>.+?)\3|!?\[(?<words>[^[\]]*)\]\((?:[^()\s]|\([^()]{0,300}\))*(?:\s{1,9}"[^"]*")?\)/gu;

function parseInline(text: string, sources: readonly Source[]): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const mark of text.matchAll(MARKED)) {
    spans.push(...linkCitations(withoutEmphasis(text.slice(end, mark.index)), sources));
    const { code, bold, words } = mark.groups ?? {};
    if (code !== undefined) spans.push({ code: code.trim() });
    else if (bold !== undefined) spans.push({ bold: stripMarks(bold) });
    else spans.push(withoutEmphasis(words ?? ""));
    end = mark.index + mark[0].length;
  }
  spans.push(...linkCitations(withoutEmphasis(text.slice(end)), sources));
  return spans.filter((span) => typeof span !== "string" || span !== "");
}

/** A text without its markup. */
const stripMarks = (text: string): string => parseInline(text, []).map(getSpanText).join("");

/** Removes emphasis: `*so*`, `_so_` and `~~so~~`. A star or underscore inside a word, or alone, stays. */
function withoutEmphasis(text: string): string {
  return text
    .replace(/~~(?=\S)(.+?)~~/gu, "$1")
    .replace(/(?<![\p{L}\p{N}*_])([*_])(?=\S)([^*_\n]+?)(?<=\S)\1(?![\p{L}\p{N}*_])/gu, "$2");
}

/** A text with its citations as links. @param sources By the cited numbers; a citation of one without an address stays text. */
export function linkCitations(text: string, sources: readonly Source[]): Span[] {
  const spans: Span[] = [];
  let end = 0;
  for (const mark of text.matchAll(CITATION)) {
    const id = Number(/\d+/.exec(mark[0])?.[0]);
    const href = toSafeUrl(sources.find((source) => source.id === id)?.url ?? null);
    if (href === null) continue;
    const label = mark[0].trimStart();
    const begin = mark.index + mark[0].length - label.length;
    spans.push(text.slice(end, begin), { words: label, href });
    end = begin + label.length;
  }
  return [...spans, text.slice(end)].filter((span) => span !== "");
}

/** The address if it is safe to link to, else `null`. The service does not vouch for another site's content. */
export function toSafeUrl(url: string | null): string | null {
  if (url === null || !URL.canParse(url)) return null;
  const { protocol, username, password, href } = new URL(url);
  // A user name before the host would look like another host.
  return protocol === "https:" && username === "" && password === "" ? href : null;
}

/** Messages for people by HTTP status, in place of messages for programs and operators. */
const SPOKEN: Readonly<Record<number, string>> = {
  405: "This address is for programs.",
  500: "That does not work right now. The problem has been recorded.",
  502: "A source that I need does not answer just now. Try again in a minute.",
  503: "I am too busy just now. Try again in a minute.",
};

/** A failure as a sentence for a person. A statement about money ("nothing was moved") is kept. */
export function describeFailure(status: number, message: string): string {
  const text = SPOKEN[status];
  if (text === undefined) return `${message.replace(/\buserId\b/g, "account id")}.`;
  const [, nothing] = /: nothing (was \w+)(?:, so [^:]+)?$/.exec(message) ?? [];
  return nothing === undefined ? text : `Nothing ${nothing}. ${text}`;
}

/** The reason for a refusal or failure, for the person in the chat. */
export function explainRefusal({ code, message }: { code: ErrorCode; message: string }): string {
  return code === "paused" ? `${message}.` : describeFailure(STATUS[code], message);
}
