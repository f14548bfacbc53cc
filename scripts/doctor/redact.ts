/** Takes out of a provider's answer what is the operator's own: keys, tokens, addresses, ids, names. */

const HIDDEN_NAMES = /KEY|TOKEN|SECRET|CHAT_ID|_URL$|ENDPOINT$|ISSUER$/;
/** Anything that looks like a key, whoever's it is. */
const KEYS = [
  /\bbk_[\w-]{6,}/g,
  /\bxai-[\w-]{6,}/g,
  /\bsk-[\w-]{6,}/g,
  /\bwhsec_[\w-]{6,}/g,
  /\b\d{6,}:[\w-]{30,}/g,
  /\b[Bb]earer [\w.~+/=-]{6,}/g,
];
const ID_FIELD =
  /^(?:id|zid|.*_id|.*Id|username|first_name|last_name|user|ip_address|organization|system_fingerprint|url)$/;

/** @param settings The variables whose values are hidden wherever they stand, each behind its name. */
export function redactor(settings: Record<string, string | undefined>): (text: string) => string {
  const values = Object.entries(settings)
    .flatMap(([name, value]): [string, string][] => {
      const known = value?.trim().replace(/\/$/, "") ?? "";
      return HIDDEN_NAMES.test(name) && known.length >= 4 ? [[name, known]] : [];
    })
    // The longest first: one may be a part of another.
    .toSorted(([, a], [, b]) => b.length - a.length);
  const hidden = (text: string) => {
    let rest = text;
    for (const [name, value] of values) {
      for (const form of [value, encodeURIComponent(value)]) rest = rest.replaceAll(form, `<${name}>`);
    }
    return KEYS.reduce((clean, pattern) => clean.replace(pattern, "<key>"), rest);
  };
  return (text) => {
    const json = parsed(text);
    return json === undefined ? hidden(text) : JSON.stringify(withoutIds(json, hidden));
  };
}

/** Ids keep their type, so that what reads the answer still can. Those of JSON-RPC only number the calls. */
function withoutIds(value: unknown, hidden: (text: string) => string): unknown {
  if (typeof value === "string") return hidden(value);
  if (Array.isArray(value)) return value.map((item) => withoutIds(item, hidden));
  if (typeof value !== "object" || value === null) return value;
  if ("jsonrpc" in value) return deep(value, hidden);
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (ID_FIELD.test(name) && typeof inner === "string") return [name, inner === "" ? "" : `<${name}>`];
      if (ID_FIELD.test(name) && typeof inner === "number") return [name, 0];
      return [name, withoutIds(inner, hidden)];
    }),
  );
}

function deep(value: object, hidden: (text: string) => string): unknown {
  return JSON.parse(hidden(JSON.stringify(value)));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
