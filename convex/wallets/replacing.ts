import { type Address, type Hex, keccak256, parseTransaction } from "viem";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { CHAIN_ID } from "../lib/base";
import { AppError, failureOf } from "../lib/errors";
import { log } from "../lib/log";
import { type Fees, raisedFees } from "../providers/chainFees";
import { prepareTransaction, type Transaction } from "../providers/chainPreparation";
import { broadcast } from "../providers/chainTransactions";
import { asAddress, asHex } from "./addresses";
import { canSign, signTransaction } from "./custody/signing";
import { WITHDRAWN_AFTER_MS } from "./machine";
import { bytesOf, type View } from "./rows";

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
export async function replaceIfStuck(ctx: ActionCtx, row: View, mined: number): Promise<boolean> {
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
  row: View,
  earlier: Hex,
  { kind, call, gas, fees }: Offer,
): Promise<boolean> {
  const { nonce = 0, walletId } = row;
  const rawTransaction = await signTransaction(ctx, walletId, {
    type: "eip1559",
    chainId: CHAIN_ID,
    nonce,
    gas,
    ...fees,
    ...call,
  });
  // Stored first, like all signed bytes: what was mined is always known by one of the transaction's hashes.
  const stored = await ctx.runMutation(internal.wallets.nonces.replace, {
    transactionId: row._id,
    outpriced: keccak256(earlier),
    replacement: {
      // What was withdrawn stays so, whatever its fees.
      kind: row.replacement?.kind === "withdrawal" ? "withdrawal" : kind,
      rawTransaction,
      txHash: keccak256(rawTransaction),
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
  const held = await ctx.runQuery(internal.wallets.nonces.held, { walletId, from: mined });
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
  const rawTransaction = await signTransaction(ctx, walletId, {
    type: "eip1559",
    chainId: CHAIN_ID,
    nonce,
    gas: GAS_OF_NOTHING,
    ...fees,
    ...call,
  });
  const txHash = keccak256(rawTransaction);
  const stored = await ctx.runMutation(internal.wallets.nonces.storeFill, {
    walletId,
    nonce,
    rawTransaction,
    txHash,
  });
  if (stored === null) return false;
  log.warn("wallets.nonce filled", { walletId, nonce });
  await ctx.runMutation(internal.wallets.transactions.beginHandOut, { transactionId: stored });
  await broadcast(asHex(rawTransaction));
  await ctx.runMutation(internal.wallets.transactions.advance, { transactionId: stored, to: "broadcast" });
  return true;
}
