import { internal } from "../../../convex/_generated/api";
import type { WalletApp } from "../chain/walletApp";

/** What time and the cron do to the transactions that were signed. */

/** Makes a time that their rows hold an earlier one, where they hold it. */
export async function age(app: WalletApp, time: "handedOutAt" | "replacedSince", ms: number): Promise<void> {
  for (const { _id, [time]: at } of await app.rows("transactions")) {
    if (at === undefined) continue;
    await app.t.run((ctx) => ctx.db.patch("transactions", _id, { [time]: at - ms }));
  }
}

/** The follow-up's cron comes by, all that is open or looked back at being due, and what it starts comes to an end. */
export async function cronComesBy(app: WalletApp): Promise<void> {
  for (const { _id, nonce } of await app.rows("transactions")) {
    if (nonce !== undefined) await app.t.run((ctx) => ctx.db.patch("transactions", _id, { nextCheckAt: 0 }));
  }
  await app.t.mutation(internal.wallets.transactions.progress.outcome.followUpDue, {});
  await app.settle();
}
