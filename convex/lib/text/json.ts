/** One escape of a JSON text: a whole surrogate pair, half of one, or any other. */
const ESCAPE =
  /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|[^])/g;
const HALF = /^\\u[dD][89a-fA-F][0-9a-fA-F]{2}$/;

/**
 * `JSON.parse` with storable strings and keys: an escape may be half a surrogate pair, which becomes the replacement
 * character. Every text from outside is read by this.
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  return JSON.parse(text.replace(ESCAPE, (escape) => (HALF.test(escape) ? "\\uFFFD" : escape)));
}

/** A string of a JSON text, with the colon after it if it is a key; or a bracket. */
const TOKEN = /("(?:[^"\\]|\\[^])*")(\s*:)?|[{}[\]]/g;

/** The keys that the object of a valid JSON text has more than once, however they are escaped. `JSON.parse` keeps the last. */
export function namesGivenTwice(text: string): string[] {
  const seen = new Set<unknown>();
  const twice = new Set<string>();
  let depth = 0;
  for (const [token, string, colon] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") depth++;
    else if (token === "}" || token === "]") depth--;
    else if (depth === 1 && string !== undefined && colon !== undefined) {
      const name = String(parseJson(string));
      if (seen.has(name)) twice.add(name);
      seen.add(name);
    }
  }
  return [...twice];
}

/** How many opening brackets are tried: prose full of them is not an answer worth finding. */
const MAX_CANDIDATES = 50;

/**
 * The JSON value in a language model's answer: the whole text, or the longest balanced object or array in it, whatever
 * fence and prose (and citations such as "[1]") surround it.
 * @returns The parsed value, or `undefined` if there is none; a truncated one does not count.
 */
export function extractJson(text: string): unknown {
  const whole = tryParse(text);
  if (whole !== undefined) return whole;
  let best: { value: unknown; length: number } | undefined;
  let candidates = 0;
  for (let start = 0; start < text.length && candidates < MAX_CANDIDATES; start++) {
    if (text[start] !== "{" && text[start] !== "[") continue;
    candidates++;
    const end = endOfValue(text, start);
    if (end === -1) continue;
    const value = tryParse(text.slice(start, end));
    if (value === undefined) continue;
    if (best === undefined || end - start > best.length) best = { value, length: end - start };
    start = end - 1;
  }
  return best?.value;
}

/** The index after the bracket that closes the one at `start`, or -1. Brackets inside strings do not count. */
function endOfValue(text: string, start: number): number {
  let depth = 0;
  let inString = false;
  for (let i = start; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") {
      depth--;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

function tryParse(text: string): unknown {
  try {
    const value = parseJson(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
