import { v, type Infer } from "convex/values";

/**
 * Message cards: paragraphs of plain text with bold spans and links, rendered to the messenger's HTML and packed into
 * parts. Everything is escaped here and only here; spans end with their line, so parts never cut through a tag.
 */

export const vSpan = v.union(
  v.string(),
  v.object({ bold: v.string() }),
  /** A few words on one line. */
  v.object({ link: v.string(), href: v.string() }),
);
export type Span = Infer<typeof vSpan>;

/** A button below a card: it opens a page, or says a command (without its slash) as if it had been typed there. */
export const vButton = v.union(
  v.object({ text: v.string(), href: v.string() }),
  v.object({ text: v.string(), command: v.string() }),
);
export type Button = Infer<typeof vButton>;

/** Spans in a row; a paragraph of several lines has "\n" in its text. */
export type Paragraph = readonly Span[];

/**
 * The messenger refuses messages beyond 4,096 characters. It counts the text without tags, so counting the HTML is on the
 * safe side; the rest is room for a mark (`marked`).
 */
export const PART_LIMIT = 3_900;

/** A picture's caption, in characters after its entities; the rest of 1,024 is room for a mark. */
const CAPTION_LIMIT = 880;

/**
 * Stands above what the default bot brings to a chat that somebody has named and not shown to be theirs (the bot is trusted
 * by whoever started it, and anybody can make up a `userId` and name their chat), or to the service's own chat for a user
 * who has none.
 */
const MARKS = {
  /** The words are the caller's. */
  words:
    "<b>✉️ Not from this service</b>\nSomebody who named this chat as theirs sends this through the bot:",
  /** The words are the service's. */
  card: "✉️ Somebody who named this chat as theirs has ordered this card. If it was not you, ignore it.",
  /** In the service's own chat, whose readers did not ask. */
  lodger: "✉️ A user without a chat of their own has ordered this card.",
};

/** The first part of a card with its mark. */
export function marked(html: string, whose: keyof typeof MARKS): string {
  return html === "" ? MARKS[whose] : `${MARKS[whose]}${GAP}${html}`;
}

/**
 * The parts of a card that has a picture: the first is the picture's caption. Words that do not fit there come behind a
 * picture without a caption.
 */
export function withPicture(parts: readonly string[]): string[] {
  const [first = "", ...others] = parts;
  return others.length === 0 && plainText(first).length <= CAPTION_LIMIT ? [first] : ["", ...parts];
}

/** A symbol that somebody chose, in which the messenger sees no address: `CLAIM.XYZ` would become a link. */
export function symbolText(symbol: string): string {
  return symbol.replaceAll(".", ".\u2060");
}

const BOLD_TAGS = "<b></b>".length;
const GAP = "\n\n";

/** @returns The card as messages of at most 4,096 characters, cut between paragraphs, else between lines, wherever they fit into one. */
export function renderCard(paragraphs: readonly Paragraph[]): string[] {
  return packed(paragraphs.flatMap(fittingPieces), GAP);
}

/** Pieces in a row, with a gap between them, as few as fit. */
function packed(pieces: readonly string[], gap: string): string[] {
  const parts: string[] = [];
  for (const piece of pieces) {
    const last = parts.at(-1);
    if (last !== undefined && last.length + gap.length + piece.length <= PART_LIMIT)
      parts[parts.length - 1] = last + gap + piece;
    else parts.push(piece);
  }
  return parts;
}

/** What a part says without its markup, for a client that refused the HTML. */
export function plainText(html: string): string {
  return html
    .replace(/<\/?b>|<a href="[^"]*">|<\/a>/g, "")
    .replaceAll("&quot;", '"')
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

function fittingPieces(paragraph: Paragraph): string[] {
  const html = paragraph.map(renderSpan).join("").trim();
  if (html === "") return [];
  if (html.length <= PART_LIMIT) return [html];
  return packed(linesOf(paragraph).flatMap(fittingLine), "\n");
}

function linesOf(paragraph: Paragraph): Span[][] {
  const lines: Span[][] = [[]];
  for (const span of paragraph) {
    if (typeof span === "object" && "link" in span) {
      lines.at(-1)?.push(span);
      continue;
    }
    const [first = "", ...rest] = (typeof span === "string" ? span : span.bold).split("\n");
    const styled = (text: string): Span => (typeof span === "string" ? text : { bold: text });
    lines.at(-1)?.push(styled(first));
    lines.push(...rest.map((text) => [styled(text)]));
  }
  return lines;
}

/** A line's HTML, in pieces where it is longer than a part. */
function fittingLine(line: readonly Span[]): string[] {
  const html = line.map(renderSpan).join("").trim();
  if (html === "") return [];
  if (html.length <= PART_LIMIT) return [html];
  return line
    .flatMap((span): Span[] => {
      if (typeof span === "string") return chunks(span, PART_LIMIT);
      if ("link" in span) return [span];
      return chunks(span.bold, PART_LIMIT - BOLD_TAGS).map((bold) => ({ bold }));
    })
    .map((span) => renderSpan(span).trim())
    .filter((piece) => piece !== "");
}

function renderSpan(span: Span): string {
  if (typeof span === "string") return escape(span);
  if ("link" in span)
    return `<a href="${escape(span.href).replaceAll('"', "&quot;")}">${escape(span.link)}</a>`;
  return span.bold === "" ? "" : `<b>${escape(span.bold)}</b>`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

/** Cuts a text into pieces whose HTML fits the limit: behind a sentence, else at a space, else anywhere. */
function chunks(text: string, limit: number): string[] {
  const pieces: string[] = [];
  let start = 0;
  let length = 0;
  let sentenceEnd = -1;
  let space = -1;
  let at = 0;
  while (at < text.length) {
    const char = String.fromCodePoint(text.codePointAt(at) ?? 0);
    const width = escape(char).length;
    if (length + width > limit) {
      const cut = sentenceEnd > start ? sentenceEnd : space > start ? space : at;
      pieces.push(text.slice(start, cut));
      start = cut;
      at = cut;
      length = 0;
      sentenceEnd = -1;
      space = -1;
      continue;
    }
    length += width;
    at += char.length;
    if (/\s/.test(char)) {
      space = at;
      if (/[.!?]\s$/.test(text.slice(Math.max(start, at - 2), at))) sentenceEnd = at;
    }
  }
  return [...pieces, text.slice(start)];
}
