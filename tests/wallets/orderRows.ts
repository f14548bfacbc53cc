import { internal } from "../../convex/_generated/api";
import type { WalletApp } from "../support/chain/walletApp";

/** What time and the cron do to the orders that were signed. */

/** Makes the times that their rows hold earlier: of their bytes, and of the first answer that their nonce is used. */
export async function age(app: WalletApp, ms: number): Promise<void> {
  for (const { _id, tries, nonceConflictSince } of await app.rows("orders")) {
    const earlier = tries.map((one) => ({ ...one, at: one.at - ms }));
    const since = nonceConflictSince === undefined ? {} : { nonceConflictSince: nonceConflictSince - ms };
    await app.t.run((ctx) => ctx.db.patch("orders", _id, { tries: earlier, ...since }));
  }
}

/** The cron comes by, all that was signed being due, and what it starts comes to an end. */
export async function cronComesBy(app: WalletApp): Promise<void> {
  for (const { _id, tries, nextCheckAt } of await app.rows("orders")) {
    const isDue = tries.length > 0 && nextCheckAt < Number.MAX_SAFE_INTEGER;
    if (isDue) await app.t.run((ctx) => ctx.db.patch("orders", _id, { nextCheckAt: 0 }));
  }
  await app.t.mutation(internal.wallets.orders.steps.takeUpDue, {});
  await app.settle();
}
