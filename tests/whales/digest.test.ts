import { expect, vi } from "vitest";
import { storeReported } from "../../convex/whales/model";
import type { App } from "../support/app";
import { EIGHT, HOUR, test } from "../signals/support";
import { BEGIN } from "./support";

/** How often the service's own chat hears of whales. */

let told = 0;

/** What an hour has brought; without an agent, so that nothing is waited for. */
async function hourWith(app: App, amounts: readonly number[]): Promise<void> {
  vi.stubEnv("LLM_GATEWAY_API_KEY", "");
  const kind = { token: "ETH", alertType: "cex_inflow", direction: "bearish", verified: false } as const;
  const rows = amounts.map((amount) => ({
    ...kind,
    amount,
    description: `The ${++told}th deposit.`,
    txHash: `0x${String(told).padStart(64, "0")}`,
  }));
  await app.t.run((ctx) => storeReported(ctx, rows, Date.now()));
  await app.t.mutation(BEGIN, {});
  vi.stubEnv("LLM_GATEWAY_API_KEY", "a-key-of-the-gateway-0123456789");
}

const cards = async (app: App) =>
  (await app.rows("messages")).filter(({ kind }) => kind === "whale alerts").map(({ parts }) => parts.join());

test("an hour with news has one card, and no other has", async ({ app }) => {
  const hours = [[1_100_000, 7_300_000], [], [], [250_000_000]];
  for (const [hour, amounts] of hours.entries()) {
    vi.setSystemTime(EIGHT + hour * HOUR + 4 * 60_000);
    await hourWith(app, amounts);
    // A second look in the same hour tells nothing again.
    await app.t.mutation(BEGIN, {});
  }
  const sent = await cards(app);
  expect(sent).toHaveLength(2);
  expect(sent[0]).toMatch(/\$7\.30M[^]*\$1\.10M/);
  expect(sent[1]).toContain("$250M");
});
