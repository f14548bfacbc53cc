import { describe, expect } from "vitest";
import { test } from "../support/app";

/** How long callers wait, and what a polled market costs, with providers that answer at once. */

const MINUTE = 60_000;
const MOST_MS = 1_500;

async function timed<Value>(work: Promise<Value>): Promise<{ value: Value; ms: number }> {
  const from = Date.now();
  const value = await work;
  return { value, ms: Date.now() - from };
}

describe("with providers that answer at once", () => {
  test("a report on any token comes within a second and a half, several tokens in a row", async ({ app }) => {
    for (const token of ["BTC", "DOGE", "PEPE", "LINK", "AVAX", "ETH"]) {
      const { value, ms } = await timed(app.post("/mcp/research", { token }));
      expect([token, value.status, ms <= MOST_MS, ms]).toEqual([token, 200, true, ms]);
    }
  });

  test("a market answer beside six cold reports comes within the same", async ({ app }) => {
    const tokens = ["BTC", "ETH", "SOL", "DOGE", "LINK", "AVAX"];
    const reports = tokens.map((token, i) => app.post("/mcp/research", { token }, { ip: `198.51.100.${i}` }));
    const { value, ms } = await timed(app.get("/mcp/market"));
    expect([value.status, ms <= MOST_MS, ms]).toEqual([200, true, ms]);
    for (const { status } of await Promise.all(reports)) expect(status).toBe(200);
  });

  // The gateway is asked every ten minutes: twenty minutes are a 72nd of a day.
  test("the market costs at most two dollars a day, however often it is asked for", async ({ app }) => {
    for (let minute = 0; minute < 20; minute++) {
      expect((await app.get("/mcp/market")).status).toBe(200);
      await app.pass(MINUTE, { cronsRun: false });
    }
    const micros = (await app.rows("spending"))
      .filter(({ of }) => ["llm", "sentiment", "agentApi"].includes(of))
      .reduce((sum, row) => sum + row.micros, 0);
    expect([micros > 0, (72 * micros) / 1e6 <= 2, micros]).toEqual([true, true, micros]);
  });
});
