/** Part of the stand-ins for local use: writes figures in prose, and reads them from prompts. */

/** `$104,512`, `$2.31`, `$0.0000057`. */
export function usd(value: number): string {
  if (value >= 1) {
    const decimals = value >= 1_000 ? 0 : 2;
    return `$${value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals })}`;
  }
  return `$${value.toLocaleString("en-US", { maximumSignificantDigits: 3 })}`;
}

/** `$1.24 trillion`, `$87.1 million`. */
export function bigUsd(value: number): string {
  for (const [size, name] of [
    [1e12, "trillion"],
    [1e9, "billion"],
    [1e6, "million"],
  ] as const) {
    if (value >= size) return `$${(value / size).toFixed(value >= 100 * size ? 0 : 2)} ${name}`;
  }
  return usd(Math.round(value));
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
