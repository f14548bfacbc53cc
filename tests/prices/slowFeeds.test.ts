import { expect } from "vitest";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { createApp, test } from "../support/app";
import { intercept } from "../support/outside";

const HOUR = 3_600_000;
const CHAIN = "http://127.0.0.1:9/";

test("feeds that keep no deadline do not cost the market what the tickers say", async () => {
  const app = createApp({ env: { CHAIN_RPC_URL: CHAIN } });
  let asked = 0;
  // A connection that neither answers nor ends for an hour, whoever gives it up.
  intercept(({ url }, pass) => {
    if (!url.startsWith(CHAIN)) return pass();
    asked++;
    return new Promise((_, reject) => setTimeout(() => reject(new TypeError("lost")), HOUR));
  });
  deadlines.grounding = 500;
  const { status, body } = await app.get("/mcp/market");
  expect(asked).toBeGreaterThan(0);
  expect(status).toBe(200);
  expect(body.sources).toMatchObject([{ name: "coinbase" }, { name: "binance" }, { name: "coingecko" }]);
});
