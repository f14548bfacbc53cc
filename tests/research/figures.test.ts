import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { PUBLIC_SOURCES } from "../../convex/figures/publicSources";
import { HOUR, MINUTE } from "../../convex/lib/time";
import { buildBrief, describeBrief } from "../../convex/research/writing/brief";
import { type App, START, test } from "../support/app";

/** Reports state what was observed, and nothing else. */

const body = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });
const writings = (app: App) =>
  app.standins
    .sent("llm")
    .filter(({ schema }) => schema === "research_result")
    .map((sent) => body.parse(sent.body).messages);

/** A result whose analysis has these sentences, and enough others. */
function resultOf(sentences: string[], others = 60): string {
  const fullAnalysis = [
    ...sentences,
    ...new Array<string>(others).fill("The desk waits for what comes next today."),
  ];
  return JSON.stringify({
    fullAnalysis: fullAnalysis.join(" "),
    shortSummary: "🟢 Calm",
    marketOutlook: "bullish",
    impacts: [{ title: "BTC", detail: "It holds.", sentiment: "bullish", confidence: 0.5 }],
  });
}

const writes = (app: App, content: string) =>
  app.standins.fail("llm", { mode: "reply", content, schema: "research_result" });

test("a figure that no fact has goes back once, with its place and what the fact is; then it loses its sentence alone; a report of which nothing is left is 502", async ({
  app,
}) => {
  writes(app, resultOf(["Bitcoin is at $42,000 [f1].", "Bitcoin leads [f1].", "It gained 77 % in a day."]));
  const { body: answer } = await app.post("/mcp/research", {});
  expect(writings(app)).toHaveLength(2);
  expect(writings(app)[1]?.at(-1)?.content).toMatch(
    /at “Bitcoin is at \$42,000 \[f1\].”: “\$42,000” does not match a cited fact \(f1 is BTC price: \$1\d\d,/,
  );
  expect(answer.result).toMatchObject({
    fullAnalysis: expect.stringMatching(/^Bitcoin leads \[1\]\. The desk waits [^$]*$/),
    sources: [{ id: 1, name: "CoinGecko", says: expect.stringMatching(/^BTC price: /) }],
  });

  app.standins.clear("llm");
  writes(app, resultOf(new Array<string>(70).fill("Bitcoin is at $42,000 [f1]."), 0));
  const { status, body: none } = await app.post("/mcp/research", { token: "ETH" });
  expect([status, none.error]).toEqual([502, expect.stringMatching(/figures no source has/)]);
});

const NOTHING = {
  facts: [],
  absent: [],
  observations: [],
  whales: [],
  moves: [],
  cycles: 1,
  at: START,
};

describe("what a report is written from", () => {
  test("is numbered facts with their sources; what only models say is called so", async ({ app }) => {
    await app.post("/mcp/research", { token: "ETH" });
    const asked = writings(app)[0]?.at(-1)?.content ?? "";
    expect(asked).toMatch(/^# CoinGecko, 09:00Z\nsubject \| price \|.*\nETH \| f1 \$[\d,.]+ \|/m);
    expect(asked).toMatch(
      /^# Hyperliquid, .*\nsubject \| perpetual funding rate per hour \|.*\n.*\nBTC \| f\d+ /m,
    );
    expect(asked).toMatch(/^# (?:coindesk|cointelegraph|decrypt)\.com?, .*\nf\d+ ETH headline: “.*”$/m);
    const [observed = "", told = ""] = asked.split("Said by language models and observed by nobody");
    expect(observed).not.toContain("unverified");
    expect(told).toMatch(
      /^# social sentiment, said by a language model, unverified[^#]*\nf\d+ Social sentiment: /m,
    );
  });

  test("has what whales moved on Base as measured facts", () => {
    const whale = {
      token: "ETH",
      description: "1,200 ETH moved to an exchange.",
      amount: 4_400_000,
      detectedAt: START,
      movement: {
        from: { address: "0x1" },
        to: { address: "0x2" },
        quantity: "1200",
        position: 0,
        blockNumber: 1,
        blockHash: "0x3",
        price: { usd: 3_700, source: "chainlink", observedAt: START },
      },
    };
    const brief = buildBrief("ETH", { ...NOTHING, whales: [whale] });
    expect(describeBrief(brief, START)).toMatch(
      /observed by this service:\n# Base, measured by this service, 09:00Z\nf1 ETH on Base: 1,200 ETH moved to an exchange\.$/m,
    );
  });

  test("names each collector that failed, and why; the others are not held back", async ({ app }) => {
    app.standins.fail("hyperliquid", { mode: "status", status: 503 });
    const { body: answer } = await app.post("/mcp/research", {});
    expect(answer.result).toMatchObject({
      missing: expect.arrayContaining([
        { collector: "perpetuals", subject: "", reason: "Hyperliquid answered with status 503" },
      ]),
    });
    expect(JSON.stringify(answer.result)).not.toMatch(/"collector":"(?:day|book|candles|markets)"/);
  });

  test("with every collector dead is said to be missing, and no figure is stated", async ({ app }) => {
    for (const source of PUBLIC_SOURCES) app.standins.fail(source, { mode: "drop" });
    const { status, body: answer } = await app.post("/mcp/research", {});
    expect(status).toBe(200);
    const shape = z.object({
      result: z.object({ missing: z.array(z.unknown()), sources: z.array(z.object({ name: z.string() })) }),
    });
    const { result } = shape.parse(answer);
    expect(result.missing.length).toBeGreaterThan(12);
    expect(result.sources.filter(({ name }) => !name.includes("language model"))).toEqual([]);
    expect(writings(app)[0]?.at(-1)?.content).toContain("none could be collected");
  });

  test("is at most ten minutes old: a report waits for its collection", async ({ app }) => {
    await app.post("/mcp/research/start", { userId: "alice" });
    await app.settle();
    app.standins.fail("sentiment", { mode: "slow", ms: 90_000 });
    vi.setSystemTime(Date.now() + 2.6 * HOUR);
    await app.pass(8 * MINUTE);
    const [report] = await app.rows("reports");
    const latest = (await app.rows("observations")).at(-1);
    const waited = (report?.generatedAt ?? 0) - (latest?.at ?? 0);
    expect([waited > 0, waited < 10 * MINUTE]).toEqual([true, true]);
    expect((latest?.at ?? 0) - (latest?._creationTime ?? 0)).toBeGreaterThan(80_000);
    expect(writings(app)).toHaveLength(1);
  });
});
