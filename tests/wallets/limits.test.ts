import fc from "fast-check";
import { expect, vi } from "vitest";
import { limitsOf, refusalOf, reserve } from "../../convex/wallets/limits/policies";
import { count } from "../../convex/wallets/limits/windows";
import { createApp, START, test } from "../support/app";

/** The caps of ids without an owner, over rolling 24 hours: against a plain list of what was moved when. */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
/** What is counted within so much of time counts as long as the last of it. */
const SLOT = 15 * MINUTE;
const CAP = 1_000;
const userId = "kq3vX9tLw2bTz7RfYh5MnP";
const transfer = {
  ...{ userId, address: "198.51.100.7" },
  permit: { kind: "allowed", by: "unclaimed", cap: null },
  request: { kind: "send", token: "USDC", toAddress: `0x${"1".repeat(40)}`, amount: "1" },
} as const;

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ send: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ giveBack: fc.nat({ max: 20 }) }) },
  { weight: 3, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 9 * 60 }) }) },
);

test("never pass the cap in any 24 hours, refuse nothing that has fitted for a quarter of an hour, and stay small", async () => {
  const app = createApp({ env: { UNCLAIMED_DAILY_USD: String(CAP) } });
  let now = START;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      // Each run begins where nothing of the one before counts any more.
      now += 3 * DAY;
      const moved: { at: number; usd: number; reservation: Awaited<ReturnType<typeof reserve>> }[] = [];
      const since = (ms: number) =>
        moved.filter(({ at }) => at > now - ms).reduce((sum, { usd }) => sum + usd, 0);
      for (const one of steps) {
        vi.setSystemTime(now);
        if ("wait" in one) now += one.wait * MINUTE;
        else if ("send" in one) {
          const value = BigInt(one.send) * 1_000_000n;
          const refusal = await app.t.run(async (ctx) => {
            const limits = await limitsOf(ctx, transfer, Date.now());
            return refusalOf(limits, value)?.message ?? null;
          });
          const reservation = await app.t.run((ctx) => reserve(ctx, transfer, value)).catch(() => null);
          // What is only asked says what would come of it.
          expect(refusal === null).toBe(reservation !== null);
          if (reservation === null) expect(since(DAY + SLOT) + one.send).toBeGreaterThan(CAP);
          else moved.push({ at: now, usd: one.send, reservation });
          expect(since(DAY)).toBeLessThanOrEqual(CAP);
        } else {
          const [given] = moved.splice(one.giveBack % Math.max(1, moved.length), 1);
          const reservation = given?.reservation ?? null;
          if (reservation !== null) await app.t.run((ctx) => count(ctx, userId, reservation, -1n));
        }
      }
      const rows = await app.rows("transferWindows");
      // What is counted, and what is counted towards the cap.
      expect(rows.length).toBeLessThanOrEqual(2);
      for (const { entries } of rows) expect(entries.length).toBeLessThanOrEqual(98);
    }),
    { numRuns: 60 },
  );
});
