import fc from "fast-check";
import { expect, test } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { decide } from "../../convex/wallets/orders/approvals";
import { livePermission } from "../../convex/wallets/permits";
import { createBotApp, linkedUser } from "../bot/support";

/** What an owner approves, freezes and changes, in any order, against the plain rules of it. */

const MINUTE = 60_000;

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ ask: fc.integer({ min: 1, max: 600 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({ tap: fc.nat({ max: 2 }), isYes: fc.constantFrom(true, true, true, false) }),
  },
  { weight: 2, arbitrary: fc.record({ stranger: fc.nat({ max: 2 }) }) },
  { weight: 2, arbitrary: fc.record({ wait: fc.constantFrom(1, 60, 300, 601) }) },
  { weight: 1, arbitrary: fc.constantFrom({ freeze: true }, { freeze: false }) },
  { weight: 1, arbitrary: fc.constant({ level: "guarded" as const }) },
);

test("a permission is written by the linked account's tap alone, once, in time and under the same rules", async () => {
  const app = createBotApp();
  const { browser, userId } = await linkedUser(app, "alice", 42);
  const [wallet] = await app.rows("wallets");
  if (wallet === undefined) throw new Error("A linked account has a wallet");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), async (steps) => {
      // Each run begins where nothing of the one before counts any more.
      await browser.mutation(api.account.freezes.unfreeze, {});
      await app.pass(26 * 60 * MINUTE, { cronsRun: false });
      const asked: { id: string; at: number; rules: number; isEnded: boolean }[] = [];
      let rules = 0;
      let isFrozen = false;
      for (const one of steps) {
        const before = (await app.rows("permissions")).length;
        let allowed = 0;
        if ("ask" in one) {
          const request = {
            ...({ kind: "send", token: "USDC", toAddress: `0x${"1".repeat(40)}` } as const),
            amount: String(one.ask * 1_000_000 + asked.length),
          };
          const { walletId } = wallet;
          const wish = {
            kind: "order" as const,
            walletId,
            request,
            valueMicroUsd: String(one.ask * 1_000_000),
          };
          const proposal = await app.t
            .mutation(internal.wallets.orders.proposals.propose, { userId, wish, found: null })
            .catch(() => null);
          if (proposal !== null) {
            expect(isFrozen).toBe(false);
            asked.push({ id: proposal.approvalId, at: Date.now(), rules, isEnded: false });
          }
        } else if ("tap" in one || "stranger" in one) {
          const isOwners = "tap" in one;
          const which = asked[isOwners ? one.tap : one.stranger];
          if (which === undefined) continue;
          const isYes = isOwners ? one.isYes : true;
          const messengerId = isOwners ? "42" : "666";
          await app.t.run((ctx) => decide(ctx, which.id, { messengerId, isYes }));
          const isOpen =
            isOwners &&
            !which.isEnded &&
            which.rules === rules &&
            !isFrozen &&
            Date.now() < which.at + 10 * MINUTE;
          if (isOpen) which.isEnded = true;
          if (isOpen && isYes) allowed = 1;
        } else if ("wait" in one) await app.pass(one.wait * 1_000, { cronsRun: false, settles: false });
        else if ("freeze" in one) {
          const { freeze, unfreeze } = api.account.freezes;
          await browser.mutation(one.freeze ? freeze : unfreeze, {});
          if (one.freeze !== isFrozen) rules += 1;
          isFrozen = one.freeze;
        } else {
          await browser.mutation(api.account.levels.set, { level: one.level });
          rules += 1;
        }
        const permissions = await app.rows("permissions");
        expect(permissions.length - before).toBeLessThanOrEqual(allowed);
        // Nothing that was allowed under other rules, or before a freeze, can be signed for the first time.
        for (const { _id, policyVersion } of permissions.slice(-3)) {
          const live = await app.t
            .run((ctx) => livePermission(ctx, _id, { isFirst: true, now: Date.now() }))
            .catch(() => null);
          const [row] = await app.rows("accountLevels");
          if (live !== null) expect([row?.frozenAt, row?.version]).toEqual([undefined, policyVersion]);
        }
      }
    }),
    { numRuns: 40, seed: 34 },
  );
  // The rules let something through, too.
  expect((await app.rows("permissions")).length).toBeGreaterThan(3);
});
