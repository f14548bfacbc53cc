import { describe, expect, vi } from "vitest";
import { internal } from "../../convex/_generated/api";
import { storeReported } from "../../convex/whales/model";
import type { App } from "../support/app";
import { buy, DAY, EIGHT, HOUR, issued, test } from "../signals/support";
import { BEGIN } from "./support";

/** How often the service's own chat hears of whales. */

let told = 0;

/** What an hour has brought; without an agent, so that nothing is waited for. */
async function hourWith(app: App, alerts: readonly { amount: number; verified: boolean }[]): Promise<void> {
  vi.stubEnv("LLM_GATEWAY_API_KEY", "");
  const kind = { token: "ETH", alertType: "cex_inflow", direction: "bearish" } as const;
  const rows = alerts.map((one) => ({
    ...kind,
    ...one,
    description: `The ${++told}th deposit.`,
    txHash: `0x${String(told).padStart(64, "0")}`,
  }));
  await app.t.run((ctx) => storeReported(ctx, rows, Date.now()));
  await app.t.mutation(BEGIN, {});
  vi.stubEnv("LLM_GATEWAY_API_KEY", "a-key-of-the-gateway-0123456789");
}

const kinds = async (app: App) => (await app.rows("messages")).map(({ kind }) => kind);
const whales = async (app: App) => (await kinds(app)).filter((kind) => kind === "whale alerts").length;

describe("cards of whales", () => {
  test("are at most a third of a service's cards in nine days, and every alert is on one", async ({
    app,
  }) => {
    for (let hour = 0; hour < 9 * 24; hour++) {
      vi.setSystemTime(EIGHT + hour * HOUR + 4 * 60_000);
      const amounts = [1.1, 7.3, 365].map((millions) => (millions + hour / 10) * 1e6);
      await hourWith(
        app,
        amounts.map((amount) => ({ amount, verified: false })),
      );
      if (hour % 24 === 0) await issued(app, buy);
      if (hour === 6 * 24 + 16) await app.t.mutation(internal.signals.recaps.openDue, {});
    }
    await app.settle();
    expect(await whales(app)).toBe(5);
    expect((await whales(app)) / (await kinds(app)).length).toBeLessThanOrEqual(1 / 3);
    const rows = await app.rows("whaleAlerts");
    expect(rows).toHaveLength(9 * 24 * 3);
    const waiting = rows.filter(({ cardHour }) => cardHour === 0);
    expect(waiting.every(({ detectedAt }) => Date.now() - detectedAt < 2 * DAY)).toBe(true);
  });

  test("come at once for the first news, and for what is large and stands on the chain", async ({ app }) => {
    await hourWith(app, [{ amount: 2_000_000, verified: false }]);
    expect(await whales(app)).toBe(1);
    vi.setSystemTime(EIGHT + HOUR);
    await hourWith(app, [
      { amount: 900_000_000, verified: false },
      { amount: 99_000_000, verified: true },
    ]);
    expect(await whales(app)).toBe(1);
    vi.setSystemTime(EIGHT + 2 * HOUR);
    await hourWith(app, [{ amount: 150_000_000, verified: true }]);
    expect(await whales(app)).toBe(2);
    const [, urgent] = await app.rows("messages");
    expect(urgent?.parts.join()).toMatch(/\$900M[^]*\$150M[^]*\$99\.0M/);
  });
});
