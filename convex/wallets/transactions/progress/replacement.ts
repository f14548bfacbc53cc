import { keccak256, parseTransaction, type Address, type Hex } from "viem";
import { internal } from "../../../_generated/api";
import type { Doc } from "../../../_generated/dataModel";
import type { ActionCtx } from "../../../_generated/server";
import { AppError, failureOf } from "../../../lib/errors";
import { log } from "../../../lib/log";
import { raisedFees, type FeeMarket, type Fees } from "../../../providers/chain/fees";
import { prepareTransaction, type Transaction } from "../../../providers/chain/preparation";
import { broadcast, saysAgain } from "../../../providers/chain/transactions";
import { storedAddress } from "../../addresses";
import { canSign } from "../../custody/signatures";
import { bytesOf } from "../bytes";
import type { Held } from "./nonces";
import { L1_FEE_MARGIN } from "../terms/plan";
import { signAnew } from "../terms/signer";
import { FURTHEST_AHEAD, OUTBID_AFTER_MS, WITHDRAWN_AFTER_MS } from "../states";

/** Replaces the bytes of stuck transactions and fills free nonces (`nonces.ts`). For actions. */

const GAS_OF_NOTHING = 21_000n;

/** Decodes stored bytes. @throws AppError `internal` if this service does not sign their kind. */
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
 * Replaces bytes that the chain's next block cannot take, when it is their turn: by the same call with higher fees, or,
 * if that is hopeless, by an empty transaction. At most one of the old and the new is ever mined.
 * @param mined How many of the wallet's transactions are mined.
 * @returns Whether other bytes were sent.
 */
export async function replaceIfStuck(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  mined: number,
): Promise<boolean> {
  const raw = bytesOf(row);
  const { nonce } = row;
  if (raw === null || nonce === undefined || nonce !== mined || !canSign(row.walletId)) return false;
  const owner = storedAddress(row.address);
  const { call, gas, fees } = readBytes(raw);
  const now = await preparationOf(owner, call);
  if (now === null) return false;
  const { market, native, l1Fee } = now;
  const starved = native < call.value + gas * fees.maxFeePerGas;
  if (market.baseFee <= fees.maxFeePerGas && !starved && !isOutbid(row, fees, market)) return false;
  const raised = raisedFees(fees, market);
  const most = await ctx.runQuery(
    internal.wallets.transactions.permissions.mostFee,
    row.permissionId === undefined ? {} : { permissionId: row.permissionId },
  );
  if (raised === null || gas * raised.maxFeePerGas + l1Fee * L1_FEE_MARGIN > BigInt(most)) return false;
  const pays = native >= call.value + gas * raised.maxFeePerGas && now.gas.kind === "estimated";
  if (pays) return handOutReplacement(ctx, row, raw, { kind: "repriced", call, gas, fees: raised });
  return withdraw(ctx, row, raw, { native, fees: raised });
}

/**
 * Takes the nonce of bytes that the node keeps refusing, with an empty transaction: only when the nonce is used is it
 * certain that they will not be mined.
 * @param mined How many of the wallet's transactions are mined.
 */
export async function withdrawRefused(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  mined: number,
): Promise<void> {
  const raw = bytesOf(row);
  if (raw === null || row.nonce !== mined || !canSign(row.walletId)) return;
  if (row.replacement?.kind === "withdrawal") return;
  const owner = storedAddress(row.address);
  const now = await preparationOf(owner, nothingFrom(owner));
  const fees = now === null ? null : raisedFees(readBytes(raw).fees, now.market);
  if (now !== null && fees !== null) await withdraw(ctx, row, raw, { native: now.native, fees });
}

async function withdraw(
  ctx: ActionCtx,
  row: Doc<"transactions">,
  raw: Hex,
  { native, fees }: { native: bigint; fees: Fees },
): Promise<boolean> {
  const waited = Date.now() - (row.handedOutAt ?? Date.now());
  // Other people's payments wait for a settlement, and its payer may have it executed again.
  const patience = row.request.kind === "settlement" ? 0 : WITHDRAWN_AFTER_MS;
  if (waited < patience || native < GAS_OF_NOTHING * fees.maxFeePerGas) return false;
  const call = nothingFrom(storedAddress(row.address));
  return handOutReplacement(ctx, row, raw, { kind: "withdrawal", call, gas: GAS_OF_NOTHING, fees });
}

/**
 * Whether blocks with room for it pass it over: its tip is below the current usual one, and it has waited long enough
 * for that to be the reason.
 */
function isOutbid({ handedOutAt }: Doc<"transactions">, fees: Fees, { baseFee, tip }: FeeMarket): boolean {
  const room = fees.maxFeePerGas - baseFee;
  const left = room < fees.maxPriorityFeePerGas ? room : fees.maxPriorityFeePerGas;
  return left < tip && Date.now() - (handedOutAt ?? Date.now()) >= OUTBID_AFTER_MS;
}

/** `null` while the chain's fees exceed what this service pays: a stuck transaction waits. */
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
  const { nonce = 0 } = row;
  const signed = await signAnew(ctx, row, { nonce, gas, fees, call }, readBytes(earlier).call);
  if (signed === null) return false;
  const { rawTransaction, txHash } = signed;
  // Stored first, like all signed bytes: a mined transaction is always known by one of its hashes.
  const stored = await ctx.runMutation(internal.wallets.transactions.progress.nonces.replace, {
    transactionId: row._id,
    outpriced: keccak256(earlier),
    replacement: {
      // A withdrawn transaction stays withdrawn, whatever its fees.
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
 * Mends what is missing between the chain's count of a wallet and its signed transactions: stored bytes are sent again,
 * also those that were confirmed in a block that is gone; free nonces are filled by empty transactions.
 * @returns `isReset`: payments that could not be mined were dropped.
 * @param only `ended`: only transactions that counted as mined, since the others are followed up anyway.
 */
export async function mendGap(
  ctx: ActionCtx,
  { walletId, address, mined, only }: { walletId: string; address: Address; mined: number; only?: "ended" },
): Promise<{ handedOut: number; filled: number; isReset: boolean }> {
  const holders = await ctx.runQuery(internal.wallets.transactions.progress.nonces.held, {
    walletId,
    from: mined,
  });
  const done = { handedOut: 0, filled: 0, isReset: false };
  const reach = reachOf(holders);
  if (reach < holders.length) {
    log.error("wallets.nonce out of reach", { walletId, mined });
    if (only === undefined && (await saysAgain(address, mined)))
      done.isReset = await ctx.runMutation(internal.wallets.transactions.progress.nonces.dropSettlements, {
        walletId,
        mined,
      });
  }
  for (const { nonce, transaction, failed } of holders.slice(0, reach)) {
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

/**
 * How many of an account's nonces are worth mending: not those after a long run of unassigned ones, because what lies
 * there was signed with a wrong nonce, and filling up to it would cost a fee per nonce. Settlements there are dropped
 * immediately (`nonces.dropSettlements`), all else by `repair`.
 */
function reachOf(holders: readonly Pick<Held, "transaction" | "failed">[]): number {
  let run = 0;
  for (const [i, { transaction, failed }] of holders.entries()) {
    run = transaction === null && failed === null ? run + 1 : 0;
    if (run > FURTHEST_AHEAD) return i + 1 - run;
  }
  return holders.length;
}

/** Fills a nonce with an empty transaction, for more than failed bytes with it offer. @returns Whether it was sent. */
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
  const { nonces, outcome } = internal.wallets.transactions.progress;
  const permissionId = await ctx.runMutation(nonces.allowFill, { walletId, nonce });
  if (permissionId === null) return false;
  const account = { walletId, address, permissionId };
  const signed = await signAnew(ctx, account, { nonce, gas: GAS_OF_NOTHING, fees, call }, null);
  if (signed === null) return false;
  const transactionId = await ctx.runMutation(nonces.storeFill, { walletId, permissionId, ...signed });
  if (transactionId === null) return false;
  log.warn("wallets.nonce filled", { walletId, nonce });
  await broadcast(signed.rawTransaction);
  await ctx.runMutation(outcome.advance, { transactionId, to: "broadcast" });
  return true;
}
