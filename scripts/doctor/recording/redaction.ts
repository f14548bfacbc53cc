import { parseJson } from "../../json";

/** Removes the operator's own data from a provider's answer: keys, tokens, addresses, ids, names. */

const HIDDEN_NAMES = /KEY|TOKEN|SECRET|CHAT_ID|_URL$|ENDPOINT$|ISSUER$/;
/** Anything that looks like a key. */
const KEYS = [
  /\bbk_[\w-]{6,}/g,
  /\bxai-[\w-]{6,}/g,
  /\bsk-[\w-]{6,}/g,
  /\bwhsec_[\w-]{6,}/g,
  /\b\d{6,}:[\w-]{30,}/g,
  /\b[Bb]earer [\w.~+/=-]{6,}/g,
];
/** Ids in sentences, by their form. Each contains a digit: `user_agent` and `job_id` are words. */
const IDS: readonly (readonly [pattern: RegExp, instead: string])[] = [
  [/[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/g, "<e-mail>"],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<id>"],
  [
    /\b(?:acct|account|app|chatcmpl|cus|customer|id|job|key|msg|org|proj|project|req|request|resp|run|sess|session|team|thr|thread|user|usr|wallet)[_-](?=[A-Za-z_-]{0,40}\d)[\w-]{3,100}/gi,
    "<id>",
  ],
  // Not after 0x, and not a figure: those belong to the chain, and are read.
  [/\b(?=\d{0,64}[a-f])(?=[a-f]{0,64}\d)[0-9a-f]{20,128}\b/gi, "<id>"],
  [/\b(account|bot|chat|customer|id|org|organization|team|user)([ :=#"']{1,4})-?\d{4,20}\b/gi, "$1$2<id>"],
  [/(?<![\w/.])@[A-Za-z]\w{3,63}/g, "<name>"],
  [/\b(?:\d{1,3}\.){3}\d{1,3}\b/g, "<ip>"],
];
const ID_FIELD =
  /^(?:id|zid|.*_id|.*Id|username|first_name|last_name|user|ip_address|organization|system_fingerprint|url)$/;

/** @param settings The variables whose values are hidden wherever they occur, each replaced by its name. */
export function redactor(settings: Record<string, string | undefined>): (text: string) => string {
  const values = Object.entries(settings)
    .flatMap(([name, value]): [string, string][] => {
      const known = value?.trim().replace(/\/$/, "") ?? "";
      return HIDDEN_NAMES.test(name) && known.length >= 4 ? [[name, known]] : [];
    })
    // The longest first: one may be part of another.
    .toSorted(([, a], [, b]) => b.length - a.length);
  const hiddenBy = (marked: (mark: string) => string) => (text: string) => {
    let rest = text;
    for (const [name, value] of values) {
      rest = rest.replace(escapedForms(value), marked(`<${name}>`));
      for (const form of base64Forms(value)) rest = rest.replaceAll(form, marked(`<${name}>`));
    }
    const keyless = KEYS.reduce((clean, pattern) => clean.replace(pattern, marked("<key>")), rest);
    return IDS.reduce((clean, [pattern, instead]) => clean.replace(pattern, marked(instead)), keyless);
  };
  const hidden = hiddenBy((mark) => mark);
  // In a feed `<id>` would be an element that never ends.
  const hiddenInMarkup = hiddenBy((mark) => mark.replace("<", "&lt;").replace(">", "&gt;"));
  return (text) => {
    const json = parseJson(text);
    if (json !== undefined) return JSON.stringify(withoutIds(json, hidden));
    return text.trimStart().startsWith("<") ? hiddenInMarkup(text) : hidden(text);
  };
}

/** A value, with any of its characters percent-encoded. */
function escapedForms(value: string): RegExp {
  const forms = [...Buffer.from(value, "utf8")].map((byte) => {
    const code = byte.toString(16).padStart(2, "0");
    return byte < 0x80 ? `(?:\\x${code}|%${code})` : `(?:%${code})`;
  });
  return new RegExp(forms.join(""), "gi");
}

/** The parts of a value's base64 that do not depend on its surroundings, for each place where it may begin. */
function base64Forms(value: string): string[] {
  return [0, 1, 2].flatMap((shift) => {
    const bytes = Buffer.concat([Buffer.alloc(shift), Buffer.from(value, "utf8")]);
    const whole = bytes.toString("base64").replace(/=+$/, "");
    const middle = whole.slice(shift === 0 ? 0 : shift + 1, bytes.length % 3 === 0 ? undefined : -1);
    return middle.length < 8 ? [] : [middle, middle.replaceAll("+", "-").replaceAll("/", "_")];
  });
}

/** Hides ids but keeps their type, so that parsers still work. Those of JSON-RPC only number the calls. */
function withoutIds(value: unknown, hidden: (text: string) => string): unknown {
  if (typeof value === "string") return hidden(value);
  if (Array.isArray(value)) return value.map((item) => withoutIds(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  if ("jsonrpc" in value) return deep(value, hidden);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      // News are public, including their addresses.
      if (name === "articles" && Array.isArray(inner)) return [name, deep(inner, hidden)];
      if (ID_FIELD.test(name) && typeof inner === "string") return [name, inner === "" ? "" : `<${name}>`];
      if (ID_FIELD.test(name) && typeof inner === "number") return [name, 0];
      return [name, withoutIds(inner, hidden)];
    }),
  );
}

function deep(value: object, hidden: (text: string) => string): unknown {
  return JSON.parse(hidden(JSON.stringify(value)));
}
