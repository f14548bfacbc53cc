/** Decodes the texts of others, and removes their markup (entities, escapes, tags, citation marks) and links. Pure. */

const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: " ", shy: "" },
  ...{ hellip: "…", mdash: "—", ndash: "–", bull: "•", middot: "·", times: "×", deg: "°", minus: "−" },
  ...{ lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“", rdquo: "”", bdquo: "„", laquo: "«", raquo: "»" },
  ...{ euro: "€", pound: "£", yen: "¥", cent: "¢", copy: "©", reg: "®", trade: "™" },
  ...{ larr: "←", rarr: "→", uarr: "↑", darr: "↓", asymp: "≈", le: "≤", ge: "≥", plusmn: "±" },
};

/** The characters that pages mean by `&#128;` to `&#159;`, as browsers read them. */
const WINDOWS = Array.from("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ");

/** A text with the characters of Windows in place of the control characters that a decoder or a number made of them. */
export function withoutControls(text: string): string {
  return text.replace(/[\u0080-\u009F]/g, (sign) => WINDOWS[sign.charCodeAt(0) - 0x80] ?? sign);
}

/** Bytes as text. `isBroken`: they are no text in any charset that may be meant, and have replacement characters. */
export type DecodedText = { text: string; isBroken: boolean; charset: string };

/**
 * The text of a body: in the charset of its byte order mark, in UTF-16 where it looks like that, else in UTF-8, in the
 * charset that its content type names, or in the one of its XML declaration. What is not UTF-8 by chance is UTF-8.
 * @param type The content type.
 */
export function decodeText(bytes: Uint8Array, type: string): DecodedText {
  const [, declared = ""] = /;\s*charset\s*=\s*["']?([^\s"';]+)/i.exec(type) ?? [];
  const charsets = [findWideCharset(bytes, declared), "utf-8", declared, findDeclaredCharset(bytes)];
  for (const charset of new Set(charsets)) {
    const text = charset === "" ? undefined : decodeStrictly(bytes, charset);
    if (text !== undefined) return { text, isBroken: false, charset };
  }
  return {
    text: new TextDecoder().decode(bytes),
    isBroken: true,
    charset: declared === "" ? "utf-8" : declared,
  };
}

/** UTF-16 by its mark, by its name, or by the zeros of its first character. */
function findWideCharset([first, second]: Uint8Array, declared: string): string {
  if ((first === 0xff && second === 0xfe) || (first !== 0 && second === 0)) return "utf-16le";
  if ((first === 0xfe && second === 0xff) || (first === 0 && second !== 0)) return "utf-16be";
  return /^utf-?16/i.test(declared) ? declared : "";
}

function findDeclaredCharset(bytes: Uint8Array): string {
  const head = String.fromCharCode(...bytes.subarray(0, 200));
  return /^\s*<\?xml[^>]*encoding\s*=\s*["']([\w-]{1,40})/i.exec(head)?.[1] ?? "";
}

/** `undefined` for invalid bytes: Convex's decoder returns nothing where the standard one throws. */
function decodeStrictly(bytes: Uint8Array, charset: string): string | undefined {
  try {
    const text: unknown = new TextDecoder(charset, { fatal: true }).decode(bytes);
    if (typeof text !== "string") return undefined;
    // Some decoders take Windows' charset for Latin-1.
    return /^utf/i.test(charset) ? text : withoutControls(text);
  } catch {
    return undefined;
  }
}

/** A text with the entities of HTML as their characters, decoded once; unknown ones stay. */
export function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (all, ...found) => {
    const [decimal, hex, name] = found.map((one: unknown) => (typeof one === "string" ? one : undefined));
    if (name !== undefined) return ENTITIES[name] ?? ENTITIES[name.toLowerCase()] ?? all;
    const code = Number.parseInt(decimal ?? hex ?? "", decimal === undefined ? 16 : 10);
    if (code > 0x10ffff) return all;
    const sign = withoutControls(String.fromCodePoint(code).toWellFormed());
    return /(?!\n)[\p{Cc}\p{Cf}]/u.test(sign) ? "" : sign;
  });
}

const SCRIPT = [/<(?:script|style)\b[^<>]{0,300}>/gi, /<\/(?:script|style)>/gi] as const;

/** A text without tags of HTML and without scripts; a lone `<` is less than. */
export function withoutTags(text: string): string {
  return withoutBetween(text, ...SCRIPT).replace(
    /<\/?[a-z][a-z\d:-]{0,30}(?:\s[^<>]{0,1000})?\/?>|<!--[^<>]{0,1000}-->/gi,
    "",
  );
}

/** A line break that was escaped once too often, but for the words of TeX and paths that begin like one. */
const LITERAL_BREAK = /(?<!\\|\b[A-Z]:)(?:\\r)?\\n(?!abla|eq\b|eg\b|ewline|ewcommand|otin|ot\b|u\b|mid\b)/g;

/** A text with its line breaks where no real one stands, and with its escaped characters, unless in backticks. */
function withoutEscapes(text: string): string {
  if (!text.includes("\\")) return text;
  return (text.includes("\n") ? text : text.replace(LITERAL_BREAK, "\n"))
    .replace(/(?<![\\`])\\(?:u([\da-fA-F]{4})|")/g, (_all, code: string | undefined) =>
      code === undefined ? '"' : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toWellFormed();
}

/** A text without what stands between an opening and a closing mark, or behind one that nothing closes. */
export function withoutBetween(text: string, open: RegExp, close: RegExp, endsOpen = true): string {
  let kept = "";
  let from = 0;
  for (open.lastIndex = 0; ;) {
    const begun = open.exec(text);
    if (begun === null) break;
    close.lastIndex = open.lastIndex;
    const closed = close.exec(text);
    if (closed === null && !endsOpen) break;
    kept += text.slice(from, begun.index);
    if (closed === null) return kept;
    from = close.lastIndex;
    open.lastIndex = from;
  }
  close.lastIndex = 0;
  return kept + text.slice(from);
}

/** A number in a citation, with the lines or the pages that it names: `3`, `4:0`, `1-3`, `12†L3-L7`. */
const CITED = "\\d{1,3}(?:[:.†–-]L?\\d{1,4}){0,2}";
const CITED_LIST = `${CITED}(?:, ?${CITED}){0,9}`;
const SUPERSCRIPT = "[¹²³⁰⁴-⁹]{1,3}";
const LABEL =
  "(?:(?:inline_?)?citations?|cite|sources?|refs?|references?|oaicite|web|news|posts?|tweets?|search|docs?|documents?|pages?|urls?|links?|footnotes?|passages?|chunks?)[ :_#-]{0,2}|x: ?";
/** A number alone as the text of a link. */
const LINK = `\\[\\\\?\\[?[#^]?(?:\\d{1,3}|${SUPERSCRIPT})\\\\?\\]?\\]\\([^()\\s]{1,900}\\)`;
/** Marks by which models and their searches cite what readers do not see: `【12†source】`, `[[1]](…)`, `[citation:1]`. */
const CITATIONS = new RegExp(
  [
    ` ?【[^【】\\n]{0,80}(?:†|source|turn\\d)[^【】\\n]{0,80}】| ?【${CITED_LIST}】| ?\\[[^[\\]\\n]{0,40}†[^[\\]\\n]{0,60}\\]`,
    ` ?\\(${LINK}\\)| ?${LINK}| ?\\[\\[${CITED_LIST}\\]\\]| ?\\[\\d{1,3}(?:\\.\\d{1,3}){2}(?:, ?\\d{1,3}(?:\\.\\d{1,3}){2}){0,9}\\]`,
    `\\n{1,2}\\[\\^(?:[a-z]{1,12}[-_]?)?\\d{1,3}\\^?\\]:[^\\n]*| ?\\[\\^(?:[a-z]{1,12}[-_]?)?\\d{1,3}\\^?\\]`,
    ` ?\\[(?:${LABEL})${CITED_LIST}\\]| ?\\[cite_(?:start|end)\\]| ?:contentReference\\[oaicite:\\d{1,3}\\]\\{index=\\d{1,3}\\}`,
    ` ?\\((?:cite|citation|source): ?${CITED_LIST}\\)| ?\\{{1,2}cite[:=][^{}\\n]{0,40}\\}{1,2}|(?<=[.!?”"])${SUPERSCRIPT}(?=\\s|$)`,
    " ?\\(\\[[^[\\]\\n]{1,80}\\]\\(https?:[^()\\s]{1,900}\\)\\)",
    " ?\\uE200[^\\uE200\\uE201]{0,300}\\uE201| ?\\bcite(?:turn\\d{1,3}[a-z]{1,12}\\d{1,3}){1,9}\\b",
    " ?<(?:sup|cite|ref|citation)(?:\\s[^<>]{0,300})?>\\s{0,9}\\[?\\d{1,3}\\]?\\s{0,9}</(?:sup|cite|ref|citation)>",
    " ?<(?:cite|citation|ref|grok:[a-z_]{1,20})(?:\\s[^<>]{0,300})?/>|</?(?:cite|citation|grok:[a-z_]{1,20}|co)(?:[\\s:][^<>]{0,300})?>",
  ].join("|"),
  "giu",
);
const RENDERED = [/ ?<grok:render\b[^<>]{0,300}>/gi, /<\/grok:render>/gi] as const;
/** A model's own list of addresses at the end. */
const OWN_SOURCES =
  /\n\s{0,9}(?:#{1,4} |\*\*)?(?:Sources|References|Citations|Footnotes)(?:\*\*)?:?(?:\*\*)?[ \t]{0,9}(?:\n{1,2}[ \t]{0,9}(?:\[\^?\d{1,3}\]:?|\d{1,3}[.)]|[-*•])[^\n]{0,400}https?:[^\n]{1,900}){1,40}\s{0,99}$/i;

export function withoutCitationMarks(text: string): string {
  return withoutBetween(text, ...RENDERED, false)
    .replace(CITATIONS, "")
    .replace(OWN_SOURCES, "");
}

/** Numbers that cite the model's own search results; facts are cited as `[f12]`. */
const NUMBERS = "\\\\?[[［〔]#?\\d{1,2}(?:[:–-]\\d{1,2})?(?:, ?\\d{1,2}){0,9}\\\\?[\\]］〕](?![\\w(])";
const NUMBERED = new RegExp(
  ` ?\\((?:(?:sources?|see|refs?)[:.]? )?${NUMBERS}(?:,? ?${NUMBERS}){0,9}\\)|(?<=[\\p{L}\\p{N}.,;:!?%"”’)\\]]) ?${NUMBERS}`,
  "giu",
);

/** A model's text as intended: entities and escapes decoded once, and without citations of sources that readers do not see. */
export function asMeant(text: string): string {
  return withoutCitationMarks(withoutEscapes(withoutEntities(text))).replace(NUMBERED, "");
}

/**
 * A model's text reaches answers and pages, and its sources (posts and headlines such as "claim at …") may have been
 * written to get there. So links and addresses are removed, unless the caller named them. A bare name (`evil.tech`) is
 * only words in an answer; cards break it when they are rendered (`messenger/format`).
 */

const WEB_LINK = /(?:\b[a-z][a-z0-9+.-]{1,20}:\/\/|\bwww\.)[^\s"'<>()[\]{}|\\^`]*/gi;
/** Addresses and hashes of EVM chains, and addresses of Bitcoin. */
const ADDRESS = /\b(?:0x[0-9a-f]{40,}|bc1[0-9a-z]{20,80})\b/gi;
/** Base58, as in addresses of Solana and older ones of Bitcoin: longer than any word of a language. */
const BASE58 = /\b[1-9A-HJ-NP-Za-km-z]{26,90}\b/g;

const LINK_GONE = "(link removed)";
const ADDRESS_GONE = "(address removed)";

/**
 * A model's text as it was meant, without links and addresses that are not in `context`: the caller's words, and what the service itself
 * knows. A Markdown link keeps its words.
 */
export function removeForeignLinks(written: string, context: string): string {
  const given = context.toLowerCase();
  const unless = (gone: string) => (match: string) => {
    const bare = match.toLowerCase().replace(/(?<![.,;:!?])[.,;:!?]+$/, "");
    return given.includes(bare) ? match : gone + match.slice(bare.length);
  };
  return asMeant(written)
    .replace(/\[([^[\]]{1,300})\]\(([^()\s]{1,2000})\)/g, (whole, words: string, target: string) =>
      given.includes(target.toLowerCase()) ? whole : words,
    )
    .replace(WEB_LINK, unless(LINK_GONE))
    .replace(ADDRESS, unless(ADDRESS_GONE))
    .replace(BASE58, (word) => (isMixed(word) ? unless(ADDRESS_GONE)(word) : word));
}

/** Whether digits, capitals and small letters are mixed. */
function isMixed(word: string): boolean {
  return /\d/.test(word) && /[A-Z]/.test(word) && /[a-z]/.test(word);
}

/** `removeForeignLinks` for every text in a JSON value; keys stay as they are. */
export function removeForeignLinksDeep(value: unknown, context: string): unknown {
  if (typeof value === "string") return removeForeignLinks(value, context);
  if (Array.isArray(value)) return value.map((item: unknown) => removeForeignLinksDeep(item, context));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, removeForeignLinksDeep(item, context)]),
  );
}
