import fc from "fast-check";
import { expect, vi } from "vitest";
import type { Id } from "../../convex/_generated/dataModel";
import { DAY, MINUTE } from "../../convex/lib/time";
import { checkLimits } from "../../convex/wallets/orders/limits";
import { openOrder } from "../../convex/wallets/orders/model";
import { createApp, START, test } from "../support/app";

/** The caps of ids without an owner, over rolling 24 hours: against a plain list of what was moved when. */

const CAP = 1_000;
const userId = "kq3vX9tLw2bTz7RfYh5MnP";
const order = {
  userId,
  walletId: "wal_1",
  address: "198.51.100.7",
  by: "free",
  etherPrice: "0",
  request: { kind: "send", token: "USDC", toAddress: `0x${"1".repeat(40)}`, amount: "1" },
} as const;

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ send: fc.integer({ min: 1, max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ fails: fc.nat({ max: 20 }) }) },
  { weight: 3, arbitrary: fc.record({ wait: fc.integer({ min: 1, max: 9 * 60 }) }) },
);

test("let through exactly what fits into the cap in any 24 hours; what fails counts nothing", async () => {
  const app = createApp({ env: { UNOWNED_DAILY_USD: String(CAP) } });
  const wallet = { walletId: "wal_1", userId, kind: "custody", address: "0x1" } as const;
  await app.t.run((ctx) => ctx.db.insert("wallets", wallet));
  let now = START;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      // Each run begins where nothing of the one before counts any more.
      now += 3 * DAY;
      const moved: { at: number; usd: number; id: Id<"orders"> }[] = [];
      const ofDay = () => moved.filter(({ at }) => at > now - DAY).reduce((sum, { usd }) => sum + usd, 0);
      for (const one of steps) {
        vi.setSystemTime(now);
        // Never a day to the millisecond: a transaction's time may be some of them ahead of the clock.
        if ("wait" in one) now += one.wait * MINUTE + 1_009;
        else if ("send" in one) {
          const value = String(one.send * 1_000_000);
          const refusal = await app.t.run(async (ctx) => {
            const { narrowest, refusal: found } = await checkLimits(ctx, { ...order, value }, now);
            expect(narrowest.left).toBe(BigInt(CAP - ofDay()) * 1_000_000n);
            return found?.message ?? null;
          });
          const id = await app.t
            .run(async (ctx) => (await openOrder(ctx, { ...order, value }))._id)
            .catch(() => null);
          // What is only asked says what would come of it.
          expect(refusal === null).toBe(id !== null);
          expect(id !== null).toBe(ofDay() + one.send <= CAP);
          if (id !== null) moved.push({ at: now, usd: one.send, id });
        } else {
          const [failed] = moved.splice(one.fails % Math.max(1, moved.length), 1);
          if (failed !== undefined)
            await app.t.run((ctx) => ctx.db.patch("orders", failed.id, { state: "failed" }));
        }
      }
    }),
    { numRuns: 40 },
  );
});
