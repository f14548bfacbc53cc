import { HOUR, MINUTE, SECOND } from "../lib/time";

/** Parses a provider's rejection of a request: its subject, the field to leave out, and the time to wait. */

/**
 * What a refusal is about, beyond its status: the operator's account, the address that asks, or only the question, which a
 * filter or the longest length rules out.
 */
export type Refusal = "account" | "address" | "filter" | "length" | null;

/** Whether a body is a page for people, as doors before a provider send. */
export const isPage = (text: string): boolean =>
  /^\s{0,100}(?:<!--[^>]{0,300}-->\s{0,100})?<(?:!doctype html|html|head|body)\b/i.test(text);

const FILTER =
  /content.?(?:filter|policy|management|exists.?risk)|moderat|safety|flagged|inappropriate|data.?inspection|sensitive|prohibited|policy.?violat|violates?\b.{0,60}(?:polic|guideline)|jailbreak|harmful|high risk|敏感|不安全|(?:prompt|request|response|content) (?:was|is) blocked/i;
const LENGTH =
  /context.?(?:length|window)|(?:prompt|input|request|message)s? (?:is |are )?too (?:long|large)|too many (?:input )?tokens|string.?above.?max|reduce the length|exceeds? .{0,60}(?:context|tokens|length)|context.?too.?long|input.?too.?long|input length|tokens.{0,40}must be <=|reduce your prompt|contains \d+ tokens/i;
const ACCOUNT =
  /insufficient.{0,10}(?:quota|credit|balance|funds)|exceeded your current quota|billing|out of credits?|credits? (?:are |is )?(?:exhausted|depleted|used up)|payment.?required|balance is too low|spending.?limit|key limit exceeded|arrear|overdue|exceeded_current_quota|(?:monthly|total) (?:usage )?limit (?:reached|exceeded)|余额不足|欠费/i;
const RATE = /per.?(?:min|minute|second|hour)\b/i;
const ADDRESS =
  /cloudflare|error code: 10\d\d|unsupported_country|location is not supported|\bip(?: address)? (?:is )?(?:not allowed|blocked|banned)|just a moment|request not allowed: region|<code>accessdenied/i;

export function parseRefusal(status: number, text: string): Refusal {
  if (status === 402) return "account";
  const words = text.slice(0, 4_000);
  if (isPage(words)) return status === 401 || status === 403 || status === 451 ? "address" : null;
  if (status === 451) return "address";
  if ([400, 401, 403, 429].includes(status) && ACCOUNT.test(words) && !RATE.test(words)) return "account";
  if (status === 413) return "length";
  if (status !== 400 && status !== 403 && status !== 422) return null;
  if (ADDRESS.test(words)) return "address";
  return LENGTH.test(words) ? "length" : FILTER.test(words) ? "filter" : null;
}

/** The number of tokens that a refusal calls the most. */
const MOST = new RegExp(
  "(?:max_(?:completion_|output_|new_)?tokens|maximum|output tokens)[^]{0,200}?" +
    "(?:at most|less than or equal to|<=|\\d >|no more than|maximum (?:value|allowed)(?: is| of)?:?|up to|cannot exceed|limit of|" +
    "supports? only|range[^\\d[(]{0,40}[[(]\\d+, ?)\\s{0,5}`?(\\d[\\d,]*)|range of max_tokens[^\\d[(]{0,40}[[(]\\d+, ?(\\d+)",
  "i",
);
/** The longest context, and the prompt's part of it. */
const CONTEXT =
  /(?:maximum context length (?:is|of) (\d{1,9}) tokens|max_new_tokens`? must be <= (\d{1,9}))[^]{0,200}?(\d{1,9})(?: tokens)? (?:in|from|of|`inputs`)(?: (?:the |your )?(?:messages|prompt|input|text)| tokens)/i;
const SYSTEM =
  /developer instruction|system (?:role|message|instruction|prompt).{0,60}(?:not|un)|role.{0,20}system.{0,40}not|['"`]system['"`] is not one of/i;
const SCHEMA =
  /response[_ ]?format|json[_ ]?(?:schema|object)|schema|grammar|structured[_ ]?output|json mode|additionalProperties|\bstrict\b/i;
const UNKNOWN = /unsupported|not supported|instead|unknown|unrecognized/i;

/**
 * The part that a refusal blames and the request can do without: `schema`, `max_tokens`, `system`, `stream`, or
 * `limit 1000`, the longest answer that the gateway allows; `null` if it blames none of these.
 */
export function findBlamedField(words: string): string | null {
  const isOther = words.includes("max_completion_tokens") || /argument supplied: max_tokens/.test(words);
  if (isOther && UNKNOWN.test(words)) return "max_tokens";
  const [, whole, most, given] = CONTEXT.exec(words) ?? [];
  const room = Number(whole ?? most) - Number(given);
  if (room > 0) return `limit ${room}`;
  const [, listed, range] = MOST.exec(words) ?? [];
  const limit = Number((listed ?? range ?? "0").replaceAll(",", ""));
  if (limit > 0) return `limit ${limit}`;
  if (/stream.{0,40}(?:must|required|only)|only.{0,20}stream|stream ?= ?true/i.test(words)) return "stream";
  if (SYSTEM.test(words)) return "system";
  return SCHEMA.test(words) ? "schema" : null;
}

/** Headers that name a pause, the most exact first. A reset counts where nothing else is said. */
const PAUSES = [
  ...["Retry-After-Ms", "X-Ms-Retry-After-Ms", "Retry-After", "X-Retry-After", "RateLimit-Retry-After"],
  ...[
    "X-RateLimit-Reset-Requests",
    "X-RateLimit-Reset-Tokens",
    "X-RateLimit-Reset",
    "RateLimit-Reset",
    "RateLimit",
  ],
];
const UNIT = "(?:ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?|rs?)?)";
/** A pause in words or in JSON: `try again in 6.5s`, `"retry_after": 3`, `"retryDelay": "7s"`, `wait 2 minutes`. */
const SAID_PAUSE = new RegExp(
  "(?:retry.?(?:delay|after|in)|again in|please wait|x-ratelimit-reset|available in)(?:[_-]?(seconds|ms))?[\"':=\\s{]{1,5}(?:seconds[\"':\\s]{1,5})?" +
    `(\\d{1,13}(?:\\.\\d{1,9})?(?:\\s?${UNIT}(?![a-z])(?:\\s?\\d{1,6}(?:\\.\\d{1,9})?\\s?${UNIT}(?![a-z])){0,2})?)`,
  "i",
);

/**
 * How long a provider asks to wait, in ms, by whatever it sends: seconds, milliseconds, a date, the time of a clock in
 * seconds or milliseconds, or a time with its unit; `null` if it does not say.
 */
export function parsePause(headers: Headers, words = ""): number | null {
  for (const name of PAUSES) {
    const said = headers.get(name);
    const pause = said === null ? null : parseSpan(said, /-Ms$/.test(name));
    if (pause !== null) return pause;
  }
  const [, unit, said] = SAID_PAUSE.exec(words) ?? [];
  return said === undefined ? null : parseSpan(said, unit?.toLowerCase() === "ms");
}

/** `30`, `1.5s`, `1h2m3s`, `800ms`, `2 minutes`. */
const SPAN =
  /^(?:(\d{1,4}) ?h(?:ours?|rs?)?)? ?(?:(\d{1,6}) ?m(?:in(?:ute)?s?)?(?![a-z]))? ?(?:(\d{1,13}(?:\.\d{1,9})?)(?![\d.]| ?m) ?(?:s(?:ec(?:ond)?s?)?)?)?(?:(\d{1,9}(?:\.\d{1,9})?) ?(?:ms|milliseconds?))?$/i;

function parseSpan(written: string, isMs: boolean): number | null {
  const [, reset] = /\breset=(\d{1,9})/.exec(written) ?? [];
  const said = reset ?? (/^\s*"?(\d+(?:\.\d+)?)"?\s*(?:,|$)/.exec(written)?.[1] ?? written).trim();
  if (isMs && /^\d{1,13}(?:\.\d{1,9})?$/.test(said)) return Number(said);
  const [, hours = 0, minutes = 0, seconds = 0, ms = 0] = SPAN.exec(said) ?? [];
  if (said !== "" && SPAN.test(said)) {
    const clock = Number(seconds);
    if (clock > 1e9) return Math.max(0, (clock > 1e12 ? clock : clock * SECOND) - Date.now());
    return Number(hours) * HOUR + Number(minutes) * MINUTE + clock * SECOND + Number(ms);
  }
  const at = /[a-z]|\d{4}-/i.test(said) ? Date.parse(said) : NaN;
  return Number.isNaN(at) ? null : Math.max(0, at - Date.now());
}
