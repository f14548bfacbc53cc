import { expect, test } from "vitest";
import { formatCondition } from "../../convex/alerts/conditions";
import { parseAlerts, parseAlertLine } from "../../convex/alerts/words";
import { indexNames } from "../../convex/figures/mentions";
import { ABROAD, ENGLISH } from "./phrasings";

/** Phrases that code reads, at these prices. */

const PRICES: Readonly<Record<string, number>> = { BTC: 100_000, ETH: 3_000, SOL: 150, BNB: 900 };
const names = indexNames(["BNB", "XRP", "SHIB"].map((subject) => ({ subject, kind: "price", value: 1 })));

/** What is read: lines, or the question; `null` for words that are the model's. */
function read(words: string): string | null {
  const found = parseAlerts(words, names)?.map((said) => said.toCondition(PRICES[said.token] ?? null));
  return (
    found?.map((one) => (one !== null && "kind" in one ? formatCondition(one) : one?.question)).join("; ") ??
    null
  );
}

const HOURS =
  "Within how many hours? Tap, or send it again with one of 1, 2, 3, 4, 6, 8, 12, 24, 48, 72, 168.";

test("a coin and a number, a percentage from here, and two alerts are read without a model; other words are not", () => {
  const table: Readonly<Record<string, string | null>> = {
    "alert btc 100001": "BTC above $100,001",
    "btc 110k": "BTC above $110,000",
    "Bitcoin 90,000?": "BTC below $90,000",
    "$ETH 2.5k": "ETH below $2,500",
    "ping me when btc hits $120,000": "BTC above $120,000",
    "wake me up if sol drops below 120": "SOL below $120",
    "tell me when bitcoin is above 105000 please": "BTC above $105,000",
    "биток 110к": "BTC above $110,000",
    比特币9万5: "BTC below $95,000",
    "比特币 12万": "BTC above $120,000",
    "btc up 10 % from here": "BTC above $110,000",
    "alert me when eth drops 5% from here": "ETH below $2,850",
    "btc 5% from here": "5\u202F% up or down from $100,000?",
    "eth down 5%": HOURS,
    "alert me about btc": "At which price? BTC is at $100,000. Tap, or send it again with a price.",
    "set an alarm for eth": "At which price? ETH is at $3,000. Tap, or send it again with a price.",
    "what about btc": null,
    "cancel my btc alert": null,
    "eth -5% 1h": "ETH down 5 % in 1 h",
    "sol up 8 percent in a day": "SOL up 8 % in 24 h",
    "sol up 8% in 5 hours": HOURS,
    "btc 120k and eth 2500": "BTC above $120,000; ETH below $2,500",
    "alert btc above 120k, or below 90k": "BTC above $120,000; BTC below $90,000",
    "btc 110k und eth 4000": "BTC above $110,000; ETH above $4,000",
    "xrp 3": "XRP at $3: above or below?",
    "btc 100000": "BTC at $100,000: above or below?",
    "1 btc": null,
    "what was btc at 100000": null,
    "don't tell me when btc is above 120k": null,
    "btc 110k 120k": null,
    "btc eth 100": null,
    "btc above and below 100k": null,
    "btc 24h": null,
    "foo 100": null,
    "buy 100 btc": null,
  };
  expect(Object.fromEntries(Object.keys(table).map((words) => [words, read(words)]))).toEqual(table);
});

test("of the phrasings that people use, none is read as another alert than it means", () => {
  const taken = [...ENGLISH, ...ABROAD].flatMap(([words, line]) => {
    const [found, ...more] = parseAlerts(words, names) ?? [];
    if (found === undefined || found.needsPrice) return [];
    const condition = found.toCondition(null);
    const isRead = condition !== null && "kind" in condition && more.length === 0;
    return [[words, isRead ? formatCondition(condition) : "?", line] as const];
  });
  expect(taken.length).toBeGreaterThan(6);
  const canonical = (line: string) => {
    const condition = parseAlertLine(line);
    return condition === null ? line : formatCondition(condition);
  };
  expect(taken.map(([words, found]) => [words, found])).toEqual(
    taken.map(([words, , line]) => [words, canonical(line)]),
  );
});
