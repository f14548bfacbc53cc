import { expect, test as plainTest } from "vitest";
import { numberSources, toSource, toStatementSource } from "../../convex/figures/citations";
import { describeSources } from "../../convex/figures/evidence";
import { buildFacts } from "../../convex/figures/facts";
import { measureCost, STORED } from "../../scripts/prompts/stored";
import { START, test } from "../support/app";

const MINUTE = 60_000;

test("a chat and a report cost at most two thirds of what they did, by the tokens of ten prompts", async ({
  app,
}) => {
  const sums = { "/mcp/chat": [0, 0], "/mcp/research": [0, 0] };
  for (const { path, body, before } of STORED) {
    // A list that another report has asked for serves for ten minutes.
    if (path === "/mcp/research") await app.pass(11 * MINUTE, { cronsRun: false });
    app.standins.forget();
    expect((await app.post(path, body)).status).toBe(200);
    const [now = 0, then = 0] = sums[path];
    const micros = app.standins.sent("llm").reduce((sum, one) => sum + measureCost(one.body).micros, 0);
    sums[path] = [now + micros, then + before];
  }
  for (const [path, [now = 0, then = 0]] of Object.entries(sums))
    expect([path, now <= (2 / 3) * then]).toEqual([path, true]);
});

plainTest("a prompt lists each fact with its number, below its source and what it measures", () => {
  const by = (subject: string, source: string, ms = 0) => ({
    subject,
    source,
    observedAt: START - ms,
    url: "",
  });
  const sources = numberSources([
    ...buildFacts(by("BTC", "CoinGecko"), { price: 97_250.5, change24h: -1.42 }).map((one) => toSource(one)),
    toStatementSource({ says: "Models agree", name: "a model", observedAt: START - 10 * 60 * MINUTE }),
    ...buildFacts(by("ETH", "CoinGecko"), { price: 3_410.2, change24h: 2 }).map((one) => toSource(one)),
    ...buildFacts(by("market", "CoinGecko"), { marketCap: 3.2e12 }).map((one) => toSource(one)),
    ...buildFacts(by("ETH", "CoinGecko", 2 * MINUTE), { headline: "Ether up | f1 9" }).map((one) =>
      toSource(one),
    ),
  ]);
  expect(describeSources(sources, START)).toBe(
    [
      "# CoinGecko, 09:00Z",
      "subject | price | price change over 24 hours",
      "BTC | f1 $97,250.50 | f2 -1.42%",
      "ETH | f4 $3,410.20 | f5 +2.00%",
      "subject | market capitalisation",
      "Market | f6 $3.20T",
      "# a model, 2026-01-04T23:00Z",
      "f3 Models agree",
      "# CoinGecko, 08:58Z",
      "f7 ETH headline: “Ether up | f1 9”",
    ].join("\n"),
  );
});
