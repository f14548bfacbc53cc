import { v, type Infer } from "convex/values";
import { keccak256, parseTransaction, type Address, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { Doc } from "../../_generated/dataModel";
import { internalMutation, internalQuery, type ActionCtx, type QueryCtx } from "../../_generated/server";
import { OPERATOR, recordAudit } from "../../lib/audit";
import { AppError, failureOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { raisedFees, type Fees } from "../../providers/chainFees";
import { prepareTransaction, type Transaction } from "../../providers/chainPreparation";
import { broadcast } from "../../providers/chainTransactions";
import { asAddress } from "../addresses";
import { canSign, signTransaction } from "../custody/signing";
import { walletById, byWalletId } from "../model";
import { bytesOf, byId, vSignedBytes, insertSigned, auditSigning } from "./model";
import { WITHDRAWN_AFTER_MS, isOpen } from "./states";
import { vTransaction, vReplacement } from "./tables";

/** Transactions that are stuck, and nonces that nobody holds: other bytes take their place. For actions. */

const GAS_OF_NOTHING = 21_000n;

/** What stored bytes say. @throws AppError `internal` when they are of another kind than this service signs. */
function readBytes(raw: Hex): { call: Transaction; gas: bigint; fees: Fees } {
  const transaction = parseTransaction(raw);
  const { to, gas } = transaction;
  if (transaction.type !== "eip1559" || to === undefined || to === null || gas === undefined) {
    throw new AppError("internal", "Signed bytes are of another kind");
  }
  const { data = "0x", value = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = transaction;
  return { call: { to, data, value }, gas, fees: { maxFeePerGas, maxPriorityFeePerGas } };
}

/** A transaction that moves nothing. */
function nothingFrom(address: Address): Transaction {
  return { to: address, data: "0x", value: 0n };
}

/**
 * Replaces bytes that the chain's next block cannot take, when it is their turn: by the same call for more, or, where that
 * has become hopeless, by nothing. Of the old and the new at most one is ever mined.
 * @param mined How many of the wallet's transactions are mined.
 * @returns Whether other bytes were handed out.
 */
export async function replaceIfStuck(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  mined: number,
): Promise<boolean> {
  const raw = bytesOf(row);
  const { nonce } = row;
  if (raw === null || nonce === undefined || nonce !== mined || !canSign(row.walletId)) return false;
  const owner = asAddress(row.address);
  const { call, gas, fees } = readBytes(raw);
  const now = await preparationOf(owner, call);
  if (now === null) return false;
  const { market, native } = now;
  const starved = native < call.value + gas * fees.maxFeePerGas;
  if (market.baseFee <= fees.maxFeePerGas && !starved) return false;
  const raised = raisedFees(fees, market);
  if (raised === null) return false;
  const pays = native >= call.value + gas * raised.maxFeePerGas && now.gas.kind === "estimated";
  if (pays) return handOutReplacement(ctx, row, raw, { kind: "repriced", call, gas, fees: raised });
  const waited = Date.now() - (row.handedOutAt ?? Date.now());
  // Other people's payments wait behind a settlement, and its payer may have it carried out anew.
  const patience = row.request.kind === "settlement" ? 0 : WITHDRAWN_AFTER_MS;
  if (waited < patience || native < GAS_OF_NOTHING * raised.maxFeePerGas) return false;
  return handOutReplacement(ctx, row, raw, {
    kind: "withdrawal",
    call: nothingFrom(owner),
    gas: GAS_OF_NOTHING,
    fees: raised,
  });
}

/** `null` while the chain asks for more than this service pays: what is stuck waits. */
async function preparationOf(owner: Address, call: Transaction) {
  try {
    return await prepareTransaction(owner, call, null);
  } catch (error) {
    if (failureOf(error) === null) throw error;
    return null;
  }
}

type Offer = { kind: "repriced" | "withdrawal"; call: Transaction; gas: bigint; fees: Fees };

async function handOutReplacement(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  earlier: Hex,
  { kind, call, gas, fees }: Offer,
): Promise<boolean> {
  const { nonce = 0, walletId } = row;
  const { rawTransaction, txHash } = await signTransaction(ctx, walletId, { nonce, gas, fees, call });
  // Stored first, like all signed bytes: what was mined is always known by one of the transaction's hashes.
  const stored = await ctx.runMutation(internal.wallets.transactions.replacement.replace, {
    transactionId: row._id,
    outpriced: keccak256(earlier),
    replacement: {
      // What was withdrawn stays so, whatever its fees.
      kind: row.replacement?.kind === "withdrawal" ? "withdrawal" : kind,
      rawTransaction,
      txHash,
    },
  });
  if (!stored) return false;
  log.warn("wallets.replaced", { transactionId: row._id, kind });
  await broadcast(rawTransaction);
  return true;
}

/**
 * Mends what is missing between what the chain has mined of a wallet and what was signed: stored bytes are handed out
 * again, also those that were confirmed in a block that is gone; nonces that nobody holds are filled by nothing.
 * @param only `ended`: nothing but what was taken for mined, as everything else is looked after.
 */
export async function mendGap(
  ctx: ActionCtx,
  { walletId, address, mined, only }: { walletId: string; address: Address; mined: number; only?: "ended" },
): Promise<{ handedOut: number; filled: number }> {
  const held = await ctx.runQuery(internal.wallets.transactions.replacement.held, { walletId, from: mined });
  const done = { handedOut: 0, filled: 0 };
  for (const { nonce, transaction, failed } of held) {
    if (transaction !== null) {
      const raw = bytesOf(transaction);
      if (raw === null || (only === "ended" && transaction.state !== "confirmed")) continue;
      await broadcast(raw);
      done.handedOut++;
    } else if (only === undefined) {
      const earlier = failed === null ? null : bytesOf(failed);
      if (!(await fill(ctx, walletId, address, nonce, earlier))) break;
      done.filled++;
    }
  }
  return done;
}

/** Takes a nonce by nothing, for more than failed bytes with it offer. @returns Whether that was handed out. */
async function fill(
  ctx: ActionCtx,
  walletId: string,
  address: Address,
  nonce: number,
  earlier: Hex | null,
): Promise<boolean> {
  if (!canSign(walletId)) return false;
  const call = nothingFrom(address);
  const now = await preparationOf(address, call);
  if (now === null) return false;
  const fees = earlier === null ? now.fees : raisedFees(readBytes(earlier).fees, now.market);
  if (fees === null || now.native < GAS_OF_NOTHING * fees.maxFeePerGas + 2n * now.l1Fee) return false;
  const signed = await signTransaction(ctx, walletId, { nonce, gas: GAS_OF_NOTHING, fees, call });
  const { replacement, outcome } = internal.wallets.transactions;
  const transactionId = await ctx.runMutation(replacement.storeFill, { walletId, ...signed });
  if (transactionId === null) return false;
  log.warn("wallets.nonce filled", { walletId, nonce });
  await broadcast(signed.rawTransaction);
  await ctx.runMutation(outcome.advance, { transactionId, to: "broadcast" });
  return true;
}

/** An account's next nonce as far as this service has given them out; `null` before its first. */
export const next = internalQuery({
  args: { walletId: v.string() },
  returns: v.union(v.number(), v.null()),
  handler: async (ctx, { walletId }) => (await walletById(ctx, walletId))?.nextNonce ?? null,
});

/** A gap is mended so many nonces at a time. */
const TOGETHER = 50;

const vHeld = v.object({
  nonce: v.number(),
  /** What was signed with it last and may be mined; `null`: nothing was, or what was has failed for good. */
  transaction: v.union(vTransaction, v.null()),
  /** Bytes with this nonce that have failed: somebody may have them still. */
  failed: v.union(vTransaction, v.null()),
});

/** What a wallet's nonces from `from` on are held by, up to the next one to be given out. */
export const held = internalQuery({
  args: { walletId: v.string(), from: v.number() },
  returns: v.array(vHeld),
  handler: async (ctx, { walletId, from }): Promise<Infer<typeof vHeld>[]> => {
    const { nextNonce = 0 } = await byWalletId(ctx, walletId);
    const until = Math.min(nextNonce, from + TOGETHER);
    const nonces = Array.from({ length: Math.max(0, until - from) }, (_, i) => from + i);
    return Promise.all(nonces.map(async (nonce) => ({ nonce, ...(await heldBy(ctx, walletId, nonce)) })));
  },
});

async function heldBy(
  ctx: QueryCtx,
  walletId: string,
  nonce: number,
): Promise<Omit<Infer<typeof vHeld>, "nonce">> {
  const rows = await ctx.db
    .query("transactions")
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId).eq("nonce", nonce))
    .order("desc")
    .take(TOGETHER);
  return {
    transaction: rows.find(({ state }) => state !== "failed") ?? null,
    failed: rows.find(({ state }) => state === "failed") ?? null,
  };
}

/**
 * Stores bytes that take a nonce nobody holds, and move nothing.
 * @returns `null` when somebody holds it by now.
 */
export const storeFill = internalMutation({
  args: { walletId: v.string(), ...vSignedBytes.fields },
  returns: v.union(v.id("transactions"), v.null()),
  handler: async (ctx, { walletId, ...signed }) => {
    const wallet = await byWalletId(ctx, walletId);
    if (signed.nonce >= (wallet.nextNonce ?? 0)) return null;
    if ((await heldBy(ctx, walletId, signed.nonce)).transaction !== null) return null;
    return insertSigned(ctx, wallet, { request: { kind: "fill" }, signed });
  },
});

/**
 * Stores other bytes for a transaction, under its nonce, before anybody outside has them.
 * @param outpriced The hash of the bytes whose place they take.
 * @returns `false` when the transaction has ended, or has others by now: the bytes are void.
 */
export const replace = internalMutation({
  args: {
    transactionId: v.id("transactions"),
    outpriced: v.string(),
    replacement: vReplacement.omit("outpriced"),
  },
  returns: v.boolean(),
  handler: async (ctx, { transactionId, outpriced, replacement }) => {
    const row = await byId(ctx, transactionId);
    if (!isOpen(row.state) || (row.replacement?.txHash ?? row.txHash) !== outpriced) return false;
    const earlier =
      row.replacement === undefined
        ? []
        : [...row.replacement.outpriced, { kind: row.replacement.kind, txHash: row.replacement.txHash }];
    await ctx.db.patch("transactions", transactionId, {
      replacement: { ...replacement, outpriced: earlier },
    });
    await auditSigning(ctx, row, `${replacement.kind} ${replacement.txHash}`);
    return true;
  },
});

/** Accepts what the chain says of a wallet's nonces, for an operator who knows why this service does not. */
export const accept = internalMutation({
  args: { walletId: v.string(), mined: v.number() },
  returns: v.number(),
  handler: async (ctx, { walletId, mined }) => {
    const wallet = await byWalletId(ctx, walletId);
    const nextNonce = Math.max(mined, wallet.nextNonce ?? 0);
    if (nextNonce !== wallet.nextNonce) await ctx.db.patch("wallets", wallet._id, { nextNonce });
    const detail = `next nonce ${nextNonce}, ${mined} mined`;
    await recordAudit(ctx, { actor: OPERATOR, action: "nonces repaired", subject: walletId, detail });
    return nextNonce;
  },
});
