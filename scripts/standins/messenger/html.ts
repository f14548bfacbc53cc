/**
 * Part of the messenger's stand-in for local use: parses HTML-styled text as the Bot API does, with its error messages.
 * As there, an ampersand that begins no known entity is an ordinary character.
 */

export type Parsed = { ok: true; text: string } | { ok: false; problem: string };

const TAGS = new Set(
  "b strong i em u ins s strike del span tg-spoiler a code pre blockquote tg-emoji tg-time".split(" "),
);

const ENTITIES = new Map(Object.entries({ lt: "<", gt: ">", amp: "&", quot: '"' }));

class Unparsable extends Error {}

export function parseHtml(source: string): Parsed {
  try {
    return { ok: true, text: parse(source) };
  } catch (error) {
    if (error instanceof Unparsable) return { ok: false, problem: error.message };
    throw error;
  }
}

function parse(source: string): string {
  const open: string[] = [];
  let text = "";
  let i = 0;
  while (i < source.length) {
    const char = source.charAt(i);
    if (char === "&") {
      const { value, length } = entityAt(source, i);
      text += value;
      i += length;
    } else if (char !== "<") {
      text += char;
      i++;
    } else if (source[i + 1] === "/") i = endTag(source, i, open);
    else i = startTag(source, i, open);
  }
  const unclosed = open.at(-1);
  if (unclosed !== undefined) {
    throw new Unparsable(`Can't find end tag corresponding to start tag "${unclosed}"`);
  }
  return text;
}

function entityAt(source: string, start: number): { value: string; length: number } {
  const found = /^&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|([a-z]+));?/.exec(source.slice(start, start + 16));
  const [whole = "&", decimal, hexadecimal, name = ""] = found ?? [];
  const value = ENTITIES.get(name);
  if (value !== undefined) return { value, length: whole.length };
  const point = decimal === undefined ? parseInt(hexadecimal ?? "0", 16) : Number(decimal);
  const valid = point > 0 && point <= 0x10ffff;
  return valid ? { value: String.fromCodePoint(point), length: whole.length } : { value: "&", length: 1 };
}

/** @returns The index after the tag. */
function startTag(source: string, start: number, open: string[]): number {
  const position = byteOffset(source, start);
  const name = /^[^\s>]*/.exec(source.slice(start + 1))?.[0].toLowerCase() ?? "";
  let i = start + 1 + name.length;
  if (i >= source.length) throw new Unparsable(`Unclosed start tag at byte offset ${position}`);
  if (!TAGS.has(name)) throw new Unparsable(`Unsupported start tag "${name}" at byte offset ${position}`);

  const attributes = new Map<string, string>();
  for (;;) {
    i += /^\s*/.exec(source.slice(i))?.[0].length ?? 0;
    if (i >= source.length) throw new Unparsable(`Unclosed start tag "${name}" at byte offset ${position}`);
    if (source[i] === ">") break;
    const found = /^([^\s=>]+)(?:\s*=\s*(?:"([^"]*)"?|'([^']*)'?|([^\s"'>]+)))?/.exec(source.slice(i));
    if (found === null) {
      throw new Unparsable(
        `Empty attribute name in the tag "${name}" at byte offset ${byteOffset(source, i)}`,
      );
    }
    const [whole, attribute = "", double, single, bare] = found;
    attributes.set(attribute.toLowerCase(), double ?? single ?? bare ?? "");
    i += whole.length;
  }
  if (name === "span" && attributes.get("class") !== "tg-spoiler") {
    throw new Unparsable(`Tag "span" must have class "tg-spoiler" at byte offset ${position}`);
  }
  open.push(name);
  return i + 1;
}

/** @returns The index after the tag. */
function endTag(source: string, start: number, open: string[]): number {
  const position = byteOffset(source, start);
  const expected = open.pop();
  if (expected === undefined) throw new Unparsable(`Unexpected end tag at byte offset ${position}`);
  const [whole, found = ""] = /^<\/([^\s>]*)\s*/.exec(source.slice(start)) ?? ["</"];
  const end = start + whole.length;
  if (source[end] !== ">") throw new Unparsable(`Unclosed end tag at byte offset ${position}`);
  const name = found.toLowerCase();
  if (name !== "" && name !== expected) {
    throw new Unparsable(
      `Unmatched end tag at byte offset ${position}, expected "</${expected}>", found "</${name}>"`,
    );
  }
  return end + 1;
}

function byteOffset(source: string, index: number): number {
  return new TextEncoder().encode(source.slice(0, index)).length;
}
