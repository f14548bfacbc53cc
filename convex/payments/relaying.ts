import { v } from "convex/values";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { log } from "../lib/log";
import { providerAction } from "../lib/providerCalls";
import { CHAIN_ID, chainClient } from "../providers/chain";
import { feesIn, readFees } from "../providers/chainFees";
import { broadcast, readMined, standing } from "../providers/chainTransactions";
import { asAddress, asHex } from "../wallets/addresses";
import { nothingFrom } from "../wallets/replacing";
import type { Settlement } from "./paidTables";
import { openRelayer } from "./relayer";

/** Looking after the relayer's transactions beyond their payments: one that is missing holds up all behind it. */

const GAS_OF_NOTHING = 21_000n;

/** All hashes under which a settlement may be mined. */
export function hashesOf({ outpriced = [], txHash }: Settlement) {
  return [...outpriced, txHash].map(asHex);
}

/**
 * Mends what is missing between what the chain has mined of the relayer and what was signed: stored bytes are handed out
 * again, also those of payments that were delivered; nonces that nobody holds are filled by nothing.
 * @param only `ended`: nothing but what was taken for mined.
 */
export async function mendRelayer(
  ctx: ActionCtx,
  { relayer, mined, only }: { relayer: string; mined: number; only?: "ended" },
): Promise<{ handedOut: number; filled: number }> {
  const done = { handedOut: 0, filled: 0 };
  for (const one of await ctx.runQuery(internal.payments.relayerNonces.held, { relayer, from: mined })) {
    const { nonce, rawTransaction, underWay } = one;
    if (rawTransaction !== null) {
      if (only === "ended" && underWay) continue;
      await broadcast(asHex(rawTransaction));
      done.handedOut++;
    } else if (only === undefined) {
      if (!(await fill(ctx, relayer, nonce))) break;
      done.filled++;
    }
  }
  return done;
}

/** Takes a nonce by nothing. @returns Whether that was handed out. */
async function fill(ctx: ActionCtx, relayer: string, nonce: number): Promise<boolean> {
  const account = openRelayer();
  if (account.address !== relayer) return false;
  const { rawTransaction } = await account.sign({
    type: "eip1559",
    chainId: CHAIN_ID,
    nonce,
    gas: GAS_OF_NOTHING,
    ...feesIn(await readFees(chainClient())),
    ...nothingFrom(account.address),
  });
  if (!(await ctx.runMutation(internal.payments.relayerNonces.storeFill, { relayer, nonce, rawTransaction })))
    return false;
  log.warn("payments.nonce filled", { relayer, nonce });
  await broadcast(rawTransaction);
  return true;
}

/** Looks at a payment that was made: the block that held it may have been dropped. */
export const lookBack = providerAction({
  args: { claimId: v.id("paymentClaims") },
  returns: v.null(),
  handler: async (ctx, { claimId }) => {
    const settlement = await ctx.runQuery(internal.payments.settlements.made, { claimId });
    if (settlement === null) return null;
    const { relayer, nonce } = settlement;
    const now = await standing(asAddress(relayer), nonce, hashesOf(settlement));
    if (now.kind === "mined") {
      if (!now.succeeded) log.error("payments.settlement lost", { claimId });
      return null;
    }
    if (now.kind !== "replaced") await mendRelayer(ctx, { relayer, mined: now.mined });
    await ctx.runMutation(internal.payments.relayerNonces.lookAgain, { claimId });
    return null;
  },
});

/**
 * For an operator: `npx convex run payments/relaying:repair`. What `wallets/transactions:repair` does for a wallet, for
 * the payment relayer.
 * @throws AppError `not_configured` without a relayer; `upstream`
 */
export const repair = providerAction({
  args: {},
  returns: v.object({
    /** The chain's and this service's next nonce. */
    mined: v.number(),
    nextNonce: v.number(),
    handedOut: v.number(),
    filled: v.number(),
  }),
  handler: async (ctx) => {
    const { address: relayer } = openRelayer();
    const mined = await readMined(relayer);
    const nextNonce: number = await ctx.runMutation(internal.payments.relayerNonces.accept, {
      relayer,
      mined,
    });
    return { mined, nextNonce, ...(await mendRelayer(ctx, { relayer, mined })) };
  },
});

/** @throws AppError `upstream` for a nonce that cannot be. */
export function impossibleNonce(): AppError {
  return new AppError(
    "upstream",
    "The chain RPC tells of transactions that the payment relayer has not made: nothing was moved",
  );
}
