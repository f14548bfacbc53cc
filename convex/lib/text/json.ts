import { withoutEntities } from "./markup";

/** Reads JSON, strictly and tolerantly. Pure; linear in the length of the text. */

/**
 * `JSON.parse` with storable strings: half a surrogate pair becomes the replacement character. Every text from outside is
 * read by this.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text, (_key, value: unknown) =>
    typeof value === "string" ? value.toWellFormed() : value,
  );
}

/**
 * The same, tolerant of the slips that writers of JSON make: other quotation marks and unescaped ones, invalid escapes, raw
 * line breaks, comments, commas too many or missing, words and figures without marks, the words of Python.
 * @throws SyntaxError
 */
export function parseTolerantly(text: string): unknown {
  try {
    return parseJson(text);
  } catch (error) {
    const value = parseWholeJson(text);
    if (value === undefined) throw error;
    return value;
  }
}

/** How many opening brackets are tried: prose full of them is not an answer worth finding. */
const MAX_CANDIDATES = 50;

/**
 * The JSON values in a language model's answer, in its order: the whole text, or each object or array in it, whatever
 * fences and prose (and citations such as "[1]") surround them. A truncated one does not count, nor does what is in it.
 */
export function extractJson(text: string): object[] {
  const whole = parseWholeJson(text);
  if (whole !== undefined) return [whole];
  const found: object[] = [];
  for (let start = 0, failed = 0; start < text.length && failed < MAX_CANDIDATES; start++) {
    if (text[start] !== "{" && text[start] !== "[") continue;
    if (/^[{[]\s{0,9}&quot;/.test(text.slice(start, start + 20)))
      return [...found, ...extractJson(withoutEntities(text.slice(start)).replaceAll("&quot;", "'"))];
    if (text.startsWith('{\\"', start)) {
      // Escaped like a string: so is all of it.
      const inner = tryRead(text.slice(start).replace(/\\(["\\])/g, "$1"), 0);
      return inner === null || inner === "cut" ? found : [...found, inner.value];
    }
    const read = tryRead(text, start);
    if (read === "cut") break;
    if (read === null) failed++;
    else {
      found.push(read.value);
      start = read.end - 1;
    }
  }
  return found;
}

/** The object or list that a whole text holds, also one inside a JSON string or with escaped quotes. */
export function parseWholeJson(text: string): object | undefined {
  const trimmed = text.trim();
  if (!/^[{["]/.test(trimmed)) return undefined;
  const exact = orNothing(() => parseJson(trimmed));
  if (typeof exact === "string") return parseWholeJson(exact);
  if (typeof exact === "object" && exact !== null) return exact;
  const read = trimmed.startsWith('"') ? null : tryRead(trimmed, 0);
  if (read !== null && read !== "cut" && skipBlanks(trimmed, read.end) === trimmed.length) return read.value;
  const unescaped = trimmed.includes('\\"') ? orNothing(() => parseJson(`"${trimmed}"`)) : undefined;
  return typeof unescaped === "string" ? parseWholeJson(unescaped) : undefined;
}

function orNothing<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** A value that cannot be read: the text ends inside it, or there is no value. */
class Unread extends Error {}
/** Created once: a stack trace for each failure would take longer than the parsing. */
const CUT = new Unread("the text ends within a value");
const NONE = new Unread("no value");

/** A value, and the index behind it. */
type Read<Value = unknown> = { value: Value; end: number };
/** The container of a value, which decides the characters that may follow it. */
type Place = "object" | "list";

const MAX_DEPTH = 200;

function tryRead(text: string, start: number): Read<object> | "cut" | null {
  try {
    return readNested(text, start, 0);
  } catch (error) {
    if (error instanceof Unread) return error === CUT ? "cut" : null;
    throw error;
  }
}

function readNested(text: string, start: number, depth: number): Read<object> {
  if (depth > MAX_DEPTH) throw NONE;
  const place: Place = text[start] === "{" ? "object" : "list";
  const closes = CLOSES[text.charAt(start)];
  const entries: [string, unknown][] = [];
  const items: unknown[] = [];
  for (let at = skipBlanks(text, start + 1); ; at = skipBlanks(text, at)) {
    while (SEPARATORS.includes(text.charAt(at)) && at < text.length) at = skipBlanks(text, at + 1);
    if (at >= text.length) throw CUT;
    if (text[at] === closes)
      return { value: place === "object" ? Object.fromEntries(entries) : items, end: at + 1 };
    const key = place === "object" ? readKey(text, at) : { value: "", end: at };
    const { value, end } = readValue(text, key.end, place, depth);
    if (place === "object") entries.push([key.value, value]);
    else items.push(value);
    // Some cite a value behind its quotation mark.
    at = end + (matchAt(CITED, text, end)?.length ?? 0);
    // A comma may be missing, but not between what could be one thing.
    const next = text.charAt(skipBlanks(text, at));
    if (!`${SEPARATORS})}]"'“„`.includes(next)) throw NONE;
  }
}

const CLOSES: Readonly<Record<string, string>> = { "{": "}", "[": "]", "(": ")" };
const SEPARATORS = ",，;；";
const CITED = /(?: ?\[\^?f?\d{1,3}\]| ?【[^【】\n]{0,80}】)+/y;
/** What stands between a key and its value. */
const COLON = /:|：|=>?/y;

const WORD = /[\p{L}_$][\w $-]{0,63}/uy;

/** @returns The index behind its colon, and behind blanks. */
function readKey(text: string, at: number): Read<string> {
  const marks = MARKS[text.charAt(at)];
  const word = marks === undefined ? (matchAt(WORD, text, at) ?? "") : "";
  const end = marks === undefined ? at + word.length : markAfter(marks, text, at + 1) + 1;
  if (end === at) throw NONE;
  const colon = skipBlanks(text, end);
  if (colon >= text.length) throw CUT;
  const sign = matchAt(COLON, text, colon);
  if (sign === null) throw NONE;
  const value = marks === undefined ? word.trim() : unescapeText(text.slice(at + 1, end - 1));
  return { value, end: skipBlanks(text, colon + sign.length) };
}

function readValue(text: string, at: number, place: Place, depth: number): Read {
  const first = text.charAt(at);
  if (first === "") throw CUT;
  if (CLOSES[first] !== undefined) return readNested(text, at, depth + 1);
  return MARKS[first] === undefined ? readBare(text, at, place) : readString(text, at, place);
}

/** By the mark that opens a text: those that close it, or escape. */
const DOUBLE = /["”“„‟»«＂″\\]/g;
const MARKS: Readonly<Record<string, RegExp>> = {
  '"': /["\\]/g,
  "'": /['\\]/g,
  "`": /[`\\]/g,
  "‘": /[’\\]/g,
  "‚": /[‘’\\]/g,
  "“": DOUBLE,
  "”": DOUBLE,
  "„": DOUBLE,
  "‟": DOUBLE,
  "«": DOUBLE,
  "»": DOUBLE,
  "″": DOUBLE,
  "＂": DOUBLE,
};

/** A string up to the first closing mark after which the container can continue; earlier marks belong to the text. */
function readString(text: string, start: number, place: Place): Read<string> {
  const marks = MARKS[text.charAt(start)] ?? DOUBLE;
  const triple = text.charAt(start).repeat(3);
  const closed = text.startsWith(triple, start) ? text.indexOf(triple, start + 3) : -1;
  if (closed !== -1) return { value: unescapeText(text.slice(start + 3, closed)), end: closed + 3 };
  for (let at = start + 1; ;) {
    const mark = markAfter(marks, text, at);
    at = mark + 1;
    if (isEnd(text, at, place))
      return { value: unescapeText(joinParts(text.slice(start + 1, mark), text.charAt(start))), end: at };
  }
}

/** A string that is written as a sum of strings. @param mark Its own quotation mark: another one within it is text. */
function joinParts(written: string, mark: string): string {
  return written.replace(mark === "'" ? /(?<!\\)'\s{0,20}\+\s{0,20}'/g : /(?<!\\)"\s{0,20}\+\s{0,20}"/g, "");
}

/** The index of the next mark that nothing escapes. */
function markAfter(marks: RegExp, text: string, from: number): number {
  for (let at = from; ;) {
    marks.lastIndex = at;
    const index = marks.exec(text)?.index;
    if (index === undefined) throw CUT;
    if (text[index] !== "\\") return index;
    at = index + 2;
  }
}

function isEnd(text: string, at: number, place: Place): boolean {
  const next = skipSpaces(text, at + (matchAt(CITED, text, at)?.length ?? 0));
  const sign = text.charAt(next);
  if (sign === "" || (place === "object" ? sign === "}" : /[\])]/.test(sign))) return true;
  if (sign === "#" || text.startsWith("//", next) || text.startsWith("/*", next)) return true;
  if (!SEPARATORS.includes(sign)) return MARKS[sign] !== undefined && text.slice(at, next).includes("\n");
  const behind = skipSpaces(text, next + 1);
  const begun = text.charAt(behind);
  if (MARKS[begun] !== undefined || /^[})\]/#,]?$/.test(begun)) return true;
  if (place === "list") return /[\d[{-]/.test(begun) || matchAt(LITERAL, text, behind) !== null;
  return matchAt(COLON, text, skipSpaces(text, behind + (matchAt(WORD, text, behind)?.length ?? 0))) !== null;
}

const LITERAL = /(?:null|true|false|None|True|False)\b/y;
/** A figure with separated thousands: in a list its commas would separate. */
const GROUPED = /[+-]?\$? ?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?=\s{0,20}(?:[%,}\n]|$))/y;
const BARE = /[^,，;；{}[\]\n"#]{1,200}?(?=\s{0,20}(?:[,，;；}\]\n[]|\/\/|\/\*|#|$))/y;
const EMPTY = /^(?:null|none|nil|undefined|[-+]?nan|[-+]?infinity)$/i;
const NUMBER = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i;

/** A word or figure without marks. */
function readBare(text: string, at: number, place: Place): Read {
  const grouped = place === "object" ? (matchAt(GROUPED, text, at) ?? "") : "";
  const rest = matchAt(BARE, text, at + grouped.length) ?? "";
  const word = (grouped + rest).trim();
  if (!/[\p{L}\p{N}]/u.test(word)) throw NONE;
  const end = at + grouped.length + rest.length;
  if (EMPTY.test(word)) return { value: null, end };
  if (/^(?:true|false)$/i.test(word)) return { value: /^t/i.test(word), end };
  return { value: NUMBER.test(word) ? Number(word) : word.toWellFormed(), end };
}

function matchAt(pattern: RegExp, text: string, at: number): string | null {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
}

const BLANK = /[\s\u200B]/;

function skipSpaces(text: string, from: number): number {
  let at = from;
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code > 32 && (code < 0xa0 || !BLANK.test(text.charAt(at)))) break;
  }
  return at;
}

/** The same behind comments too. */
function skipBlanks(text: string, from: number): number {
  for (let at = from; ;) {
    at = skipSpaces(text, at);
    const isLine = text[at] === "#" || text.startsWith("//", at);
    if (!isLine && !text.startsWith("/*", at)) return at;
    const end = text.indexOf(isLine ? "\n" : "*/", at);
    if (end === -1) return text.length;
    at = end + (isLine ? 1 : 2);
  }
}

const ESCAPED: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** The characters that a string's text stands for; of an invalid escape what is escaped. */
function unescapeText(written: string): string {
  return written
    .replace(/(?![\n\r\t])\p{Cc}/gu, "")
    .replace(/\\(?:u([0-9a-fA-F]{4})|([^]))/g, (_all, code: string | undefined, one = "") =>
      code === undefined
        ? (ESCAPED[String(one)] ?? String(one))
        : String.fromCharCode(Number.parseInt(code, 16)),
    )
    .toWellFormed();
}
