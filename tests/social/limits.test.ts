import { describe, expect, vi } from "vitest";
import { giveBack, takeShare } from "../../convex/social/limits";
import { type App, test } from "../support/app";

/** What mentions may move is counted over any 24 hours, and no midnight makes it anew. */

const HOUR = 3_600_000;
const USD = 1_000_000n;
const EVENING = Date.UTC(2026, 0, 5, 23, 30);

const take = (app: App, usd: bigint, at: number) =>
  app.t.run((ctx) => takeShare(ctx, "alice", usd * USD, at));

describe("the limit of mentions in 24 hours", () => {
  test("is not twice as high around midnight", async ({ app }) => {
    vi.setSystemTime(EVENING);
    for (let n = 0; n < 3; n++) expect((await take(app, 100n, EVENING)).kind).toBe("taken");
    for (const hours of [1, 8, 23])
      expect(await take(app, 1n, EVENING + hours * HOUR)).toEqual({
        kind: "refused",
        reason: "This trade would pass the daily limit of 300 USD by mention",
      });
    expect((await take(app, 100n, EVENING + 25 * HOUR)).kind).toBe("taken");
  });

  test("holds over every 24 hours of a long series, and gives back what moved nothing", async ({ app }) => {
    const taken: { at: number; usd: bigint }[] = [];
    for (let n = 0; n < 120; n++) {
      const at = EVENING + n * 47 * 60_000;
      const usd = BigInt(5 + ((n * 37) % 90));
      const outcome = await take(app, usd, at);
      if (outcome.kind === "refused") continue;
      if (n % 7 === 0) await app.t.run((ctx) => giveBack(ctx, "alice", outcome.share));
      else taken.push({ at, usd });
    }
    expect(taken.length).toBeGreaterThan(10);
    for (const { at } of taken) {
      const within = taken.filter((one) => one.at >= at && one.at < at + 24 * HOUR);
      expect(within.reduce((sum, { usd }) => sum + usd, 0n)).toBeLessThanOrEqual(300n);
    }
  });
});
