import { expect, vi } from "vitest";
import { deadlines } from "../../convex/lib/deadlines";
import type * as sources from "../../convex/prices/sources";
import { test } from "../support/app";

/** Feeds that keep no deadline: a connection that neither answers nor ends, for an hour. */
vi.mock("../../convex/prices/sources", async (load) => ({
  ...(await load<typeof sources>()),
  askFeeds: () => new Promise<never>((_, reject) => setTimeout(() => reject(new Error("lost")), 3_600_000)),
}));

test("feeds that never answer do not cost the market what the tickers say", async ({ app }) => {
  deadlines.grounding = 500;
  const { status, body } = await app.get("/mcp/market");
  expect(status).toBe(200);
  expect(body.sources).toMatchObject([{ name: "coinbase" }, { name: "binance" }, { name: "coingecko" }]);
});
