/** Part of the gateway's stand-in for local use: how the simulated model restates what somebody wants to be alerted of, in English or German. */

import * as z from "zod";

type Restated = { line: string | null; ask: null };

const NOTHING: Restated = { line: null, ask: null };
const said = (line: string): Restated => ({ line, ask: null });

const COINS: readonly (readonly [symbol: string, names: RegExp])[] = [
  ["CBBTC", /\bcbbtc\b/i],
  ["WETH", /\bweth\b/i],
  ["BTC", /\b(?:btc|bitcoins?)\b/i],
  ["ETH", /\b(?:eth|ether|ethereum)\b/i],
  ["SOL", /\b(?:sol|solana)\b/i],
  ["USDC", /\busdc\b/i],
  ["USDT", /\b(?:usdt|tether)\b/i],
  ["DAI", /\bdai\b/i],
];
const MULTIPLES: Readonly<Record<string, number>> = { k: 1e3, m: 1e6, b: 1e9, t: 1e3 };
const NUMBER =
  /([-−])?\$?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(k\b|thousand|tausend|m\b|mio|million|b\b|bn\b|billion)?/i;
const PERCENTAGE = /([-−])?(\d+(?:\.\d+)?)\s?(?:%|percent|per cent|prozent)/i;
const SPAN = /(\d+)?[\s-]?(h\b|hours?|std\b|stunden?|d\b|days?|tag(?:e|en|es)?\b|w\b|weeks?|wochen?)/i;
const CLOCK = /\b(\d{1,2})(?:[:.h](\d{2}))?(?:\s?(am|pm|uhr)\b)?/i;

const DOWN =
  /\b(?:below|under|down|drops?|falls?|falling|loses?|less|unter|fällt|fallen|sinkt|verliert|runter)\b/i;
const UP =
  /\b(?:above|over|up|rises?|rising|climbs?|gains?|more|hits?|reach(?:es)?|steigt|steigen|klettert|superen?|supera|dépasse)\b|über|>/i;
const OUT = /\b(?:outflows?|out of|leaves?|withdraw\w*|from|abfluss|abflüsse|von|aus)\b/i;

/** @param prompt The user's message, which holds the words as a JSON string behind "Words: ". */
export function restated(prompt: string): Restated {
  const words = wordsIn(prompt).normalize("NFC");
  if (/digest|summary|zusammenfassung|überblick|übersicht/i.test(words)) return digest(words);
  const named = COINS.filter(([, names]) => names.test(words));
  const [token] = named[0] ?? [];
  const isDown = DOWN.test(words);
  if (named.length !== 1 || token === undefined) return NOTHING;
  const percent = signed(PERCENTAGE.exec(words));
  const amount = usdIn(words);
  if (/whale|\bwale?s?\b|inflow|outflow|zufluss|abfluss|exchange|börse/i.test(words)) {
    return amount === null
      ? NOTHING
      : said(`${OUT.test(words) ? "outflow" : "inflow"} of ${token} over ${amount}`);
  }
  const isSaid = isDown || UP.test(words);
  if (/funding/i.test(words)) {
    const hours = /per hour|pro stunde|\/ ?h\b/i.test(words) ? 1 : 8;
    if (percent === null || !isSaid) return NOTHING;
    return said(`${token} funding ${isDown ? "below" : "above"} ${percent} % per ${hours} h`);
  }
  if (percent !== null) {
    const hours = hoursIn(words.replace(PERCENTAGE, " "));
    if (hours === null || (!isSaid && percent > 0)) return NOTHING;
    return said(`${token} ${isDown || percent < 0 ? "down" : "up"} ${Math.abs(percent)} % in ${hours} h`);
  }
  return amount === null || !isSaid ? NOTHING : said(`${token} ${isDown ? "below" : "above"} ${amount}`);
}

function wordsIn(prompt: string): string {
  const literal = prompt.slice(prompt.indexOf("Words: ") + "Words: ".length).split("\n")[0] ?? "";
  try {
    return z.string().parse(JSON.parse(literal));
  } catch {
    return literal;
  }
}

function digest(words: string): Restated {
  const timeZone = /\b[A-Z][A-Za-z]+\/[A-Z][A-Za-z_]+\b/.exec(words)?.[0] ?? "UTC";
  const [, hour, minute = "00", half = ""] = CLOCK.exec(words) ?? [];
  if (hour === undefined) return NOTHING;
  const isLate = (/pm/i.test(half) || /evening|abend/i.test(words)) && Number(hour) < 12;
  const time = `${String(Number(hour) + (isLate ? 12 : 0)).padStart(2, "0")}:${minute}`;
  return said(`digest at ${time} ${timeZone}`);
}

function signed(found: RegExpExecArray | null): number | null {
  const [, minus, digits] = found ?? [];
  return digits === undefined ? null : Number(digits) * (minus === undefined ? 1 : -1);
}

function usdIn(words: string): number | null {
  const [, , digits, multiple = ""] = NUMBER.exec(words) ?? [];
  if (digits === undefined) return null;
  return Number(digits.replaceAll(",", "")) * (MULTIPLES[multiple.charAt(0).toLowerCase()] ?? 1);
}

function hoursIn(words: string): number | null {
  const [, count = "1", unit] = SPAN.exec(words) ?? [];
  if (unit === undefined) return null;
  const length = /^[dt]/i.test(unit) ? 24 : /^w/i.test(unit) ? 168 : 1;
  return Number(count) * length;
}
