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
 * The same, tolerant of the slips that writers of JSON make: an invalid escape, a raw line break in a string, a trailing
 * comma, NaN. Such a text is mended once and read again.
 * @throws SyntaxError
 */
export function parseTolerantly(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    return parseJson(mended(text));
  }
}

/** A string with its escapes, closed or not; a comma before a closing bracket; or no number. */
const MENDABLE = /"(?:[^"\\]|\\[^])*"?|,(?=\s*[}\]])|-?\b(?:NaN|Infinity)\b/g;
const CONTROL: Record<string, string> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function mended(text: string): string {
  return text.replace(MENDABLE, (part) => {
    if (part === ",") return "";
    if (!part.startsWith('"')) return "null";
    return part
      .replace(/\\(?:u[0-9a-fA-F]{4}|[^])/g, (escape) =>
        /^\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])$/.test(escape) ? escape : escape.slice(1),
      )
      .replace(/\p{Cc}/gu, (control) => CONTROL[control] ?? "");
  });
}

/** How many opening brackets are tried: prose full of them is not an answer worth finding. */
const MAX_CANDIDATES = 50;

/**
 * The JSON values in a language model's answer, in its order: the whole text, or each balanced object or array in it,
 * whatever fences and prose (and citations such as "[1]") surround them. A truncated one does not count.
 */
export function jsonValues(text: string): object[] {
  const whole = tryParse(text);
  if (whole !== undefined) return [whole];
  const found: object[] = [];
  let candidates = 0;
  for (let start = 0; start < text.length && candidates < MAX_CANDIDATES; start++) {
    if (text[start] !== "{" && text[start] !== "[") continue;
    candidates++;
    const end = endOfValue(text, start);
    if (end === -1) continue;
    const value = tryParse(text.slice(start, end));
    if (value === undefined) continue;
    found.push(value);
    start = end - 1;
  }
  return found;
}

/** A whole string, or a bracket outside of strings. */
const STRING_OR_BRACKET = /"(?:[^"\\]|\\[^])*"|[[\]{}]/g;

/** The index after the bracket that closes the one at `start`, or -1. Brackets inside strings do not count. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  for (const { 0: part, index } of text.slice(start).matchAll(STRING_OR_BRACKET)) {
    if (part === "{" || part === "[") depth++;
    else if (part === "}" || part === "]") depth--;
    if (depth === 0) return start + index + 1;
  }
  return -1;
}

function tryParse(text: string): object | undefined {
  try {
    const value = parseTolerantly(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
