import { expect } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { chain, useChain } from "../support/chain";
import { authorize, buy, payer, versionTwo, test } from "./paying";

/** What a paid report is written from: all of its sources, and it says so. */

useChain();

test("a report waits for the slowest source, however soon others have answered, and names them all", async ({
  app,
}) => {
  deadlines.researchSources = 1;
  app.standins.fail("sentiment", { mode: "slow", ms: 700, times: 1 });
  const { status, body } = await buy(app, versionTwo(await authorize(await payer(chain))));
  expect(status).toBe(200);
  const live = { state: "live", asOf: expect.any(String) };
  expect(body.result).toMatchObject({ readings: { market: live, sentiment: live, onchain: live } });
});

test("without an observed price no report is written, and the payment is kept", async ({ app }) => {
  const header = versionTwo(await authorize(await payer(chain)));
  for (const source of ["coingecko", "coinbase", "binance"] as const) {
    app.standins.fail(source, { mode: "status", status: 503 });
  }
  const failed = await buy(app, header);
  expect([failed.status, failed.body.error]).toEqual([502, "CoinGecko answered with status 503"]);
  expect(await app.rows("paymentClaims")).toMatchObject([{ state: "paid" }]);
});
