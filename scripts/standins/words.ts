/** Part of the stand-ins for local use: how the simulated models write figures, and read prompts. */

/** `$104,512`, `$2.31`, `$0.0000057`. */
export function usd(value: number): string {
  if (value < 1) return `$${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
  const decimals = value >= 1_000 ? 0 : 2;
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
}

const SIZES = [
  [1e12, "trillion"],
  [1e9, "billion"],
  [1e6, "million"],
] as const;

/** `$1.24 trillion`, `$87.1 million`. */
export function bigUsd(value: number): string {
  const [size, name] = SIZES.find(([least]) => value >= least) ?? [];
  if (size === undefined) return usd(Math.round(value));
  return `$${(value / size).toFixed(value >= 100 * size ? 0 : 2)} ${name}`;
}

/** `+1.32%`, `-0.40%`. */
export function percent(change: number): string {
  return `${change < 0 ? "-" : "+"}${Math.abs(change).toFixed(2)}%`;
}

/** "a", "a and b", "a, b and c". */
export function listed(items: readonly string[]): string {
  const last = items.at(-1) ?? "";
  return items.length < 2 ? last : `${items.slice(0, -1).join(", ")} and ${last}`;
}

/** The symbol after "Focus token:", if any. */
export function focusToken(prompt: string): string | null {
  const found = /Focus token:\s*\$?([A-Za-z0-9][A-Za-z0-9.$-]{0,23})/.exec(prompt)?.[1];
  return found === undefined ? null : found.replace(/[.]+$/, "").toUpperCase();
}

export type ToldFact = {
  id: number;
  /** `BTC price` */
  about: string;
  /** The text after the colon. */
  told: string;
  /** Its first number; `null` for words. */
  value: number | null;
  isModels: boolean;
};

const LINE = /^f(\d+) (.+) \((.+), \d{4}-\d\d-\d\dT\d\d:\d\dZ\)$/;

/** The numbered facts in a prompt, as a model has to cite them. */
export function factsIn(prompt: string): ToldFact[] {
  return prompt.split("\n").flatMap((line): ToldFact[] => {
    const [, id, says = "", name = ""] = LINE.exec(line.trim()) ?? [];
    if (id === undefined) return [];
    const [, about = says, told = ""] = /^(.*?): (.*)$/.exec(says) ?? [];
    const [number, sign, digits = "", scale = ""] = /^([+−]?)\$?([\d,]+(?:\.\d+)?)([KMBT]?)/.exec(told) ?? [];
    const size = Number(digits.replaceAll(",", "")) * 1_000 ** " KMBT".indexOf(scale || " ");
    const value = number === undefined ? null : sign === "−" ? -size : size;
    return [{ id: Number(id), about, told, value, isModels: name.includes("language model") }];
  });
}

/** The slot for a fact's figure. */
export function slot({ id }: ToldFact): string {
  return `{f${id}}`;
}
