import { expect } from "vitest";
import { measure } from "../../scripts/host/billing/usage";
import { buy, issued, test } from "../signals/support";
import { agentSays, alert, watchNow } from "../whales/support";
import { openPage, samplePrices } from "./support";

/** What pages cost. */

test("a page reads what its JSON reads at most, writes nothing and asks nobody", async ({ app }) => {
  await app.get("/mcp/market");
  await app.post("/mcp/research", { token: "BTC" });
  await issued(app, buy);
  agentSays(app, [alert({ token: "PEPE", amount: 7_300_000 })]);
  await watchNow(app);
  await samplePrices(app, [100, 100.4, 100.2, 100.8, 100.6]);
  const [BTC, ETH] = ["/signals/BTC-2026-01-05", "/signals/ETH-2026-01-05"];
  const today = [
    ...["/mcp/prices?hours=25", "/mcp/market", "/mcp/signals/latest", BTC, ETH],
    "/mcp/whale-alerts?hours=24",
  ];
  const pages: Record<string, readonly string[]> = { "/": today };
  for (const path of ["/record", BTC, "/research?token=BTC", "/whales", "/status", "/board"])
    pages[path] = [path];

  const asked = () => app.standins.sent("llm").length + app.standins.sent("tickers").length;
  for (const [path, data] of Object.entries(pages)) {
    const before = asked();
    const { usage, value } = await measure(() => openPage(app, path));
    expect([path, value.status, usage.written, asked() - before]).toEqual([path, 200, 0, 0]);
    const { usage: own } = await measure(async () => {
      for (const one of data) await app.get(one);
    });
    expect(own.read).toBeGreaterThan(0);
    expect([path, usage.read <= own.read]).toEqual([path, true]);
  }
});
