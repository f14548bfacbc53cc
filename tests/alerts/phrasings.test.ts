import { describe, expect } from "vitest";
import { ALERT_KINDS, LEAST_FLOW_USD } from "../../convex/alerts/conditions";
import { findDifference, RESTATEMENT_SCHEMA_NAME } from "../../convex/alerts/restating";
import { parseAlertLine } from "../../convex/alerts/words";
import type { Fact } from "../../convex/figures/facts";
import { FLOOR_USD } from "../../convex/whales/coins";
import { START, test, type App } from "../support/app";
import { ABROAD, ENGLISH } from "./phrasings";
import { ask, MINUTE, priced } from "./support";

const ALL = [...ENGLISH, ...ABROAD];
/** Names as the list of the market has them. */
const NAMES =
  "ADA Cardano, DOGE Dogecoin, LTC Litecoin, LINK Chainlink, AVAX Avalanche, DOT Polkadot, TON Toncoin, XMR Monero, TRX TRON, UNI Uniswap, SUI Sui, NEAR NEAR Protocol, USDT Tether";
const FACTS = NAMES.split(", ").map((entry): Fact => {
  const [subject = "", ...name] = entry.split(" ");
  const of = { observedAt: START, source: "CoinGecko", url: "https://www.coingecko.com" };
  return { ...of, subject, kind: "name", value: name.join(" ") };
});

/** Whether a model's line is taken for what the words say. */
function isTaken(words: string, line: string): boolean {
  const read = parseAlertLine(line);
  return read !== null && findDifference(read, line, words, FACTS) === null;
}

describe("a hundred phrasings in ten languages", () => {
  test("are taken where the model restates them rightly, but for two amounts and numbers in letters", () => {
    expect([ENGLISH.length, ABROAD.length, new Set(ALL.map(([words]) => words)).size]).toEqual([55, 45, 100]);
    expect(ALL.filter(([words, line]) => !isTaken(words, line)).map(([words]) => words)).toEqual([
      "hey so basically I'm long and liquidated at 91.5k on btc so warn me at 93k when it comes down",
      "bitcoin fifty percent down in a week",
      "sol: down eight percent, 24h",
    ]);
  });

  test("are never taken where the model has another number, or another coin", () => {
    const number = (line: string) =>
      line.replace(/(?<![A-Z])\d+/, (digits) => (/^0+$/.test(digits) ? "1" : `9${digits}`));
    const coin = (line: string) => line.replace(/\b[A-Z]{3,4}\b/, (own) => (own === "ETH" ? "SOL" : "ETH"));
    expect(ALL.filter(([words, line]) => isTaken(words, number(line)))).toEqual([]);
    const tenfold = (line: string) =>
      line.replace(/\d[\d.]*(?= %)/, (percent) => String(Number(percent) * 10));
    const percents = ALL.filter(([, line]) => line.includes("%"));
    expect(percents.filter(([words, line]) => isTaken(words, tenfold(line)))).toEqual([]);
    const priced = ALL.filter(([, line]) => !line.startsWith("digest"));
    expect(priced.filter(([words, line]) => isTaken(words, coin(line)))).toEqual([]);
  });

  test("include an example of each kind, which is read as that kind", () => {
    for (const [kind, { said }] of Object.entries(ALERT_KINDS))
      if (said !== null)
        expect([said.example, parseAlertLine(said.example)?.kind]).toEqual([said.example, kind]);
  });

  test("name a coin by its symbol, whatever signs that has", () => {
    const differs = (token: string, words: string) =>
      findDifference(
        { kind: "price", token, direction: "above", levelUsd: 300 },
        `${token} above 300`,
        words,
        FACTS,
      );
    expect(differs("A$B", "tell me when a$b is above 300")).toBeNull();
    expect(differs("A.B", "tell me when axb is above 300")).toContain("your words do not name it");
    expect(differs("1INCH", "1inch一旦高于300就叫我")).toBeNull();
  });

  test("may name every movement that is measured, and no smaller one", () => {
    expect(LEAST_FLOW_USD).toBe(FLOOR_USD);
  });
});

/** What the service answers to words that the model restates as a line. */
async function answered(app: App, words: string, line: string): Promise<[number, string]> {
  const content = JSON.stringify({ line, ask: null });
  app.standins.clear();
  app.standins.fail("llm", { mode: "reply", schema: RESTATEMENT_SCHEMA_NAME, content });
  const { status, body } = await ask(app, words);
  return [status, typeof body["error"] === "string" ? body["error"] : ""];
}

test("what a model has read is asked about where it holds already or lies far away; nothing is on without a yes", async ({
  app,
}) => {
  await priced(app, START + MINUTE, 115_000);
  expect(await answered(app, "sag mir wenn btc 100.000 erreicht", "BTC above 100000")).toEqual([
    400,
    "BTC is at $115,000, so that is true already. Above or below? Say BTC below $100,000, or BTC above $100,000",
  ]);
  // 12万 is 120,000: a tenth of it has the same digits.
  expect(await answered(app, "比特币涨到12万美元通知我", "BTC above 12000")).toEqual([
    400,
    expect.stringContaining("I read $12,000. Is that the level?"),
  ]);
  expect((await answered(app, "比特币涨到12万美元通知我", "BTC above 120000"))[0]).toBe(200);
  expect((await answered(app, "btc below 90k, ok?", "BTC below 95000"))[0]).toBe(400);
  await ask(app, "yes");
  expect((await app.rows("alerts")).map(({ state }) => state)).toEqual(["proposed"]);
});
