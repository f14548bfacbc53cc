/** Part of the gateway's stand-in for local use: how the simulated model restates an English wish for an alert. */

import { parseJson } from "../json";

/** The first name that a text has counts. */
const COINS: readonly (readonly [symbol: string, names: string])[] = [
  ["BTC", "btc|bitcoin"],
  ["ETH", "eth|ether|ethereum"],
  ["SOL", "sol|solana"],
  ["DOGE", "doge|dogecoin"],
  ["XRP", "xrp|ripple"],
  ["BNB", "bnb"],
  ["USDC", "usdc"],
  ["USDT", "usdt|tether"],
];

const DOWN = /\b(?:below|under|down|drop|dip|crash|fall|los(?:es?|ing)|less)|</i;
const UP = /\b(?:above|over|up|ris(?:es?|ing)|climb|gain|more|hit|reach|break|pump|rall|doubles)|>/i;
const AMOUNT = /\$?(\d[\d, ]*(?:\.\d+)?) ?(k|m|million|thousand)?\b/i;
const SPAN = /(\d+)?\s*\b(hours?|h|days?|d|weeks?)\b|(\d+)(h|d)\b/i;
const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 };

type Restated = { line: string | null; ask: null };

/** @param prompt The user's message, which contains the words as a JSON string after "Words: ". */
export function restated(prompt: string): Restated {
  const words = /Words: (".*")/.exec(prompt)?.[1];
  return { line: lineOf(String(words === undefined ? "" : parseJson(words))), ask: null };
}

function lineOf(words: string): string | null {
  if (/digest|summary|recap|overview/i.test(words)) {
    const [, hour, minute = "00", half] = /\b(\d{1,2})(?::(\d\d))?(?: ?(am|pm))?\b/i.exec(words) ?? [];
    const zone = /\b[A-Z][a-z]+\/[A-Z][A-Za-z_]+\b/.exec(words)?.[0] ?? "UTC";
    if (hour === undefined) return null;
    const shown = Number(hour) + (half?.toLowerCase() === "pm" && Number(hour) < 12 ? 12 : 0);
    return `digest at ${String(shown).padStart(2, "0")}:${minute} ${zone}`;
  }
  const token = COINS.find(([, names]) => new RegExp(`\\b(?:${names})\\b`, "i").test(words))?.[0];
  const isDown = DOWN.test(words);
  if (token === undefined || !(isDown || UP.test(words) || words.includes("-"))) return null;
  const percent = /(\d+(?:\.\d+)?) ?(?:%|percent)/i.exec(words)?.[1];
  if (percent !== undefined) {
    const rest = words.replace(/\d+(?:\.\d+)? ?(?:%|percent)/i, "");
    const direction = isDown || words.includes("-") ? "down" : "up";
    if (/funding/i.test(words)) return `${token} funding ${isDown ? "below" : "above"} ${percent} % per 8 h`;
    const [, count, unit, own, letter] = SPAN.exec(rest) ?? [];
    const hours = HOURS[(unit ?? letter ?? "").charAt(0).toLowerCase()];
    return hours === undefined
      ? null
      : `${token} ${direction} ${percent} % in ${Number(count ?? own ?? 1) * hours} h`;
  }
  const [, digits, scale = ""] = AMOUNT.exec(words) ?? [];
  if (digits === undefined) return null;
  const factor = /^[kt]/i.test(scale) ? 1e3 : /^m/i.test(scale) ? 1e6 : 1;
  const amount = Number(digits.replace(/[, ]/g, "")) * factor;
  if (/exchange|inflow|outflow/i.test(words))
    return `${/outflow|leav|withdraw|from/i.test(words) ? "outflow" : "inflow"} of ${token} over ${amount}`;
  return `${token} ${isDown ? "below" : "above"} ${amount}`;
}
