import { internal } from "../../../convex/_generated/api";
import type { Doc } from "../../../convex/_generated/dataModel";
import type { Chain } from "../../../scripts/chain";
import { until } from "../../support/waits";
import type { WalletApp } from "../../support/chain/walletApp";
import { passedBy, type World } from "./reorgOrders";

/** Time passes on an honest chain, until nothing moves any more. */

const MOST_PASSES = 40;
const PASS_MS = 61_000;
/** Ends what hangs. */
const REST_LIMIT_MS = 600_000;

/** A minute passes for all that waits for its time, and the crons come by. */
export async function cronsComeBy(app: WalletApp): Promise<void> {
  await app.t.run(async (ctx) => {
    for (const row of await ctx.db.query("orders").collect()) {
      if (row.nextCheckAt === Number.MAX_SAFE_INTEGER) continue;
      const { usedSince, nextCheckAt, tries } = row;
      await ctx.db.patch("orders", row._id, {
        // What was not signed yet belongs to a caller who still waits.
        ...(row.state === "prepared" ? {} : { nextCheckAt: nextCheckAt - PASS_MS }),
        ...(usedSince === undefined ? {} : { usedSince: usedSince - PASS_MS }),
        tries: tries.map((one) => ({ ...one, at: one.at - PASS_MS })),
      });
    }
    for (const { _id, at } of await ctx.db.query("work").collect())
      await ctx.db.patch("work", _id, { at: at - PASS_MS });
  });
  await app.t.mutation(internal.wallets.orders.rows.takeUpDue, {});
  await app.t.mutation(internal.lib.work.turns.resumeLost, {});
  passedBy(app);
}

/** Lets time pass until every order is answered and the chain agrees with what is stored. @returns Whether it came to that. */
export async function comesToRest(
  chain: Chain,
  world: World,
  answers: readonly { isThere: boolean }[],
  known: number,
): Promise<boolean> {
  const end = performance.now() + REST_LIMIT_MS;
  for (let pass = 0; pass < MOST_PASSES && performance.now() < end; pass++) {
    await chain.miner.mine();
    await cronsComeBy(world.app);
    // Some wait for receipts, which may take a further visit of the crons.
    let looks = 0;
    await until(() => looks++ >= 20 || answers.every(({ isThere }) => isThere));
    if (answers.every(({ isThere }) => isThere) && (await isSettled(chain, world, known))) return true;
  }
  return false;
}

/** Whether all that the round has signed has ended as the chain says, and no nonce is open. */
async function isSettled(chain: Chain, { app }: World, known: number): Promise<boolean> {
  const rows = (await app.rows("orders")).slice(known);
  if (rows.some(({ endedAt }) => endedAt === undefined)) return false;
  for (const row of rows) {
    if (row.state === "confirmed" && (await receiptOf(chain, row)) === null) return false;
  }
  for (const { address, nextNonce = 0 } of await app.rows("wallets")) {
    if ((await countOf(chain, address)) !== nextNonce) return false;
  }
  return true;
}

async function countOf(chain: Chain, address: string): Promise<number> {
  return Number(await chain.rpc("eth_getTransactionCount", [address, "latest"]));
}

async function receiptOf(chain: Chain, row: Doc<"orders">): Promise<unknown> {
  for (const { hash } of row.tries.filter((one) => one.nonce === row.nonce)) {
    const receipt = await chain.rpc("eth_getTransactionReceipt", [hash]);
    if (receipt !== null) return receipt;
  }
  return null;
}

/** What does not come to rest, in words. */
export async function unrest(chain: Chain, app: WalletApp): Promise<string> {
  const open = (await app.rows("orders")).filter(({ endedAt }) => endedAt === undefined);
  const accounts = await Promise.all(
    (await app.rows("wallets")).map(
      async ({ address, nextNonce = 0 }) =>
        `${address} is at ${await countOf(chain, address)} of ${nextNonce}`,
    ),
  );
  const rows = open.map(
    ({ request, nonce, state, error = "" }) => `${request.kind} ${nonce} ${state} ${error}`,
  );
  const claims = (await app.rows("paymentClaims")).map(
    ({ state, trouble }) => `${state} ${trouble?.message ?? ""}`,
  );
  return `It does not come to rest: ${[...accounts, ...rows, ...claims].join("; ")}`;
}
