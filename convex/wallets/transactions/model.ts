import { v, type Infer, type ObjectType } from "convex/values";
import { literals } from "../../lib/literals";
import type { Hex } from "viem";
import { internal } from "../../_generated/api";
import type { Doc, Id } from "../../_generated/dataModel";
import type { QueryCtx, MutationCtx } from "../../_generated/server";
import { PAUSED } from "../../lib/security/refusals";
import { recordAudit } from "../../lib/records/audit";
import { MOST_FEE } from "../../lib/money/base";
import { isOn } from "../../lib/env";
import { AppError, KEY_USED, type ErrorCode } from "../../lib/errors";
import { NOBODY } from "../../lib/records/records";
import { log } from "../../lib/log";
import { rowsByBoth } from "../../lib/records/rows";
import { NEVER } from "../../lib/time";
import { tellOwner } from "../../messenger/webhooks/events";
import { asHex } from "../addresses";
import type { Permit } from "../../users/access";
import { liveRules } from "../../users/levels";
import { isListFull, list } from "../limits/allowlist";
import { byWalletId, walletAt } from "../model";
import { livePermission } from "../permits";
import { release, reserve, reserveAgain } from "../limits/policies";
import type { Source } from "../tables";
import { openTrade, settleTrade, type Mentioned } from "../trades";
import {
  PREPARED_FOR_MS,
  SIGNED_WITHIN_MS,
  DRIVER_LEASE_MS,
  nextCheck,
  mayFollow,
  LOOK_BACK_MS,
  corrects,
  shortfallOf,
} from "./states";
import { vState, vTraded, type TransactionRequest, type TransactionState } from "./tables";

/**
 * The rows of the transaction machine (`states.ts`): finding, opening and moving them on, with all consequences. Plain
 * functions; those that write are steps of their caller's mutation.
 */

type Transaction = Doc<"transactions">;

/** The bytes to send, or `null` while nothing is signed. */
export function bytesOf({
  rawTransaction,
  replacement,
}: Pick<Transaction, "rawTransaction" | "replacement">): Hex | null {
  const raw = replacement?.rawTransaction ?? rawTransaction;
  return raw === undefined ? null : asHex(raw);
}

/** All hashes under which it may be mined. */
export function hashesOf({ txHash, replacement }: Transaction): Hex[] {
  const own = txHash === undefined ? [] : [txHash];
  const others = replacement === undefined ? [] : [...replacement.outpriced, replacement];
  return [...own, ...others.map(({ txHash: hash }) => hash)].map(asHex);
}

export async function byId(ctx: QueryCtx, id: Id<"transactions">): Promise<Transaction> {
  const row = await ctx.db.get("transactions", id);
  if (row === null) throw new AppError("internal", "The transaction is gone");
  return row;
}

export async function oldest(ctx: QueryCtx, walletId: string, state: "signed" | "unknown" | "prepared") {
  return rowsByBoth(ctx.db.query("transactions"), "walletId", walletId, "state", state).first();
}

export async function openedWith(ctx: QueryCtx, userId: string, idempotencyKey: string | undefined) {
  if (idempotencyKey === undefined) return null;
  return rowsByBoth(
    ctx.db.query("transactions"),
    "userId",
    userId,
    "idempotencyKey",
    idempotencyKey,
  ).unique();
}

function sameRequest(a: TransactionRequest, b: TransactionRequest): boolean {
  const canonical = (request: TransactionRequest) => JSON.stringify(Object.entries(request).sort());
  return canonical(a) === canonical(b);
}

type Order = {
  userId: string;
  walletId: string;
  request: TransactionRequest;
  source: Source;
  idempotencyKey?: string;
  /** Micro-USD; `null` when no live price is known. */
  value: bigint | null;
  /** The permit of the caller who orders it (`users/access`). */
  permit: Permit;
  /** The caller's network address; `null` if the order came by no network. */
  address: string | null;
  /** The social mention that ordered it. */
  mentioned?: Mentioned;
  /** The most that mentions may move in 24 hours, in micro-USD, for an order by one. */
  mentionsMost?: bigint;
  /** What its owner was shown: the least that a swap may bring, and the most that one transaction may cost (wei). */
  minBuyAmount?: string | undefined;
  mostFee?: string | undefined;
};

/** The kind of act, for the check of who may order it. */
export function deedOf({ kind }: TransactionRequest): "send" | "swap" {
  return kind === "swap" ? "swap" : "send";
}

/**
 * Opens a transaction in one step: its idempotency key, its share of the limits, its row, its trade, and a driver for
 * the wallet's queue.
 * @param begin Starts the driver; by default one of its own, unless the caller drives.
 * @returns The transaction; if the key was used before with the same request, the first one.
 * @throws AppError `conflict` if the key was used for another request; `paused`; `invalid_request` if a limit would be
 * exceeded.
 */
export async function openTransaction(
  ctx: MutationCtx,
  order: Order,
  begin: (ctx: MutationCtx, wallet: Doc<"wallets">, now: number) => Promise<void> = startDriver,
): Promise<Id<"transactions">> {
  const { userId, walletId, request, source, idempotencyKey, value, permit, address, mentioned } = order;
  const { minBuyAmount, mostFee } = order;
  const earlier = await openedWith(ctx, userId, idempotencyKey);
  if (earlier !== null) {
    if (earlier.walletId !== walletId || !sameRequest(earlier.request, request)) {
      throw new AppError("conflict", KEY_USED);
    }
    return earlier._id;
  }
  const paused = pauseOf();
  if (paused !== null) throw paused;
  const wallet = await byWalletId(ctx, walletId);
  const transfer = { userId, permit, address, request, mentionsMost: order.mentionsMost };
  const reserved = await reserve(ctx, transfer, value);
  const now = Date.now();
  const permissionId = await allow(ctx, { walletId, userId, by: permit.by, request, minBuyAmount, mostFee });
  const transactionId = await ctx.db.insert("transactions", {
    walletId,
    userId,
    address: wallet.address,
    request,
    permissionId,
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    state: "prepared",
    ...(reserved === null ? {} : { reserved }),
    createdAt: now,
    nextCheckAt: now + PREPARED_FOR_MS,
    checks: 0,
  });
  await openTrade(ctx, { userId, source, transactionId, request, now, mentioned });
  if (permit.by === "owner" || permit.by === "approval") await noteRecipient(ctx, wallet, request);
  // An order that was tapped for has its own card.
  if (permit.by !== "approval" && permit.by !== "chat" && permit.by !== "unclaimed")
    await ctx.scheduler.runAfter(0, internal.wallets.orders.notices.tell, {
      transactionId,
      way: wayOf(order),
    });
  await begin(ctx, wallet, now);
  return transactionId;
}

/** How an order came, in words for its owner. */
function wayOf({ source, permit: { by, key } }: Pick<Order, "source" | "permit">): string {
  if (source === "x") return "by a post of yours";
  if (key !== undefined) return `with your key ${key.name}`;
  return by === "id" ? "by your account id alone" : "with your token";
}

/** Stores what may be signed, under the owner's current rules. @throws AppError `paused` while the account is frozen. */
export async function allow(
  ctx: MutationCtx,
  {
    minBuyAmount,
    mostFee = MOST_FEE.toString(),
    ...asked
  }: Pick<Doc<"permissions">, "walletId" | "userId" | "by" | "request"> & {
    minBuyAmount?: string | undefined;
    mostFee?: string | undefined;
  },
): Promise<Id<"permissions">> {
  const { version: policyVersion } = await liveRules(ctx, asked.userId);
  return ctx.db.insert("permissions", {
    ...asked,
    ...(minBuyAmount === undefined ? {} : { minBuyAmount }),
    mostFee,
    policyVersion,
    until: Date.now() + SIGNED_WITHIN_MS,
  });
}

/** Lists a recipient whom the owner has sent to, or tapped for; it counts two hours later. */
async function noteRecipient(
  ctx: MutationCtx,
  { userId }: Doc<"wallets">,
  request: TransactionRequest,
): Promise<void> {
  if (request.kind !== "send" || (await walletAt(ctx, request.toAddress))?.userId === userId) return;
  if (!(await isListFull(ctx, userId))) await list(ctx, userId, request.toAddress);
}

/** The refusal of all sends and swaps; `null` unless the operator has paused them. */
export function pauseOf(): AppError | null {
  return isOn("TRADING_PAUSED") ? new AppError("paused", PAUSED) : null;
}

/** Makes sure that a wallet's queue has a driver: one whose lease ran out is replaced. */
export async function startDriver(ctx: MutationCtx, wallet: Doc<"wallets">, now: number): Promise<void> {
  const { walletId } = wallet;
  const driver = await takeTerm(ctx, wallet, now);
  if (driver !== null)
    await ctx.scheduler.runAfter(0, internal.wallets.transactions.driver.drive, { walletId, driver });
}

/** Makes the caller the wallet's driver. @returns The number of its term; `null` while another driver is at work. */
export async function takeTerm(
  ctx: MutationCtx,
  wallet: Doc<"wallets">,
  now: number,
): Promise<number | null> {
  if ((wallet.leaseUntil ?? 0) > now) return null;
  const driver = wallet.driver + 1;
  await ctx.db.patch("wallets", wallet._id, { driver, leaseUntil: now + DRIVER_LEASE_MS });
  return driver;
}

export const vSignedBytes = v.object({ nonce: v.number(), rawTransaction: v.string(), txHash: v.string() });
export type SignedBytes = Infer<typeof vSignedBytes>;

export const vSigned = v.object({ walletId: v.string(), driver: v.number(), ...vSignedBytes.fields });

/** @returns `false` if the driver was replaced or the nonce is taken: the bytes are void. */
export async function takeNonce(
  ctx: MutationCtx,
  signed: { walletId: string; driver: number; nonce: number },
): Promise<boolean> {
  const wallet = await byWalletId(ctx, signed.walletId);
  if (wallet.driver !== signed.driver || signed.nonce < (wallet.nextNonce ?? 0)) return false;
  await ctx.db.patch("wallets", wallet._id, {
    nextNonce: signed.nonce + 1,
    leaseUntil: Date.now() + DRIVER_LEASE_MS,
  });
  return true;
}

/**
 * Checks the permission again in the transaction that releases signed bytes: nothing leaves if the account was frozen
 * or changed since the signature.
 * @throws AppError as `livePermission`.
 */
export async function requireLive(
  ctx: QueryCtx,
  { permissionId }: Pick<Transaction, "permissionId">,
): Promise<Id<"permissions">> {
  if (permissionId === undefined) throw new AppError("internal", "Nothing is signed without a permission");
  await livePermission(ctx, permissionId, { isFirst: true, now: Date.now() });
  return permissionId;
}

/** Creates a transaction with its signed bytes, for those that nobody has ordered. */
export async function insertSigned(
  ctx: MutationCtx,
  { walletId, userId, address }: Pick<Transaction, "walletId" | "userId" | "address">,
  { signed, ...row }: Pick<Transaction, "request" | "parentId" | "permissionId"> & { signed: SignedBytes },
): Promise<Id<"transactions">> {
  const fresh = { walletId, userId, address, ...row, createdAt: Date.now(), checks: 0 };
  const transactionId = await ctx.db.insert("transactions", { ...fresh, ...signedFields(signed) });
  await auditSigning(ctx, { ...fresh, _id: transactionId }, `${row.request.kind} ${signed.txHash}`);
  return transactionId;
}

/** Bytes are sent right after they are stored: from here on somebody outside may have them. */
export function signedFields({ nonce, rawTransaction, txHash }: SignedBytes) {
  const now = Date.now();
  const signed = { nonce, rawTransaction, txHash, handedOutAt: now };
  return { state: "signed" as const, ...signed, nextCheckAt: nextCheck(now, 0) };
}

/** Records a signature in the audit trail, for the user or, by its address, for a service account. */
export async function auditSigning(
  ctx: MutationCtx,
  { _id, userId, address }: Pick<Transaction, "_id" | "userId" | "address">,
  detail: string,
): Promise<void> {
  const actor = userId === NOBODY ? address : userId;
  await recordAudit(ctx, { actor, action: "transaction signed", subject: _id, detail });
}

type Step = {
  to: TransactionState;
  error?: string | undefined;
  errorCode?: ErrorCode | undefined;
  minedAs?: string | undefined;
  /** By the receipt of a swap. */
  traded?: Infer<typeof vTraded> | undefined;
};

/** A step of a transaction, from an action. */
export const vStep = {
  to: vState,
  error: v.optional(v.string()),
  errorCode: v.optional(literals("invalid_request", "upstream", "internal", "paused", "forbidden")),
  /** Only from this state: for dropping what was not signed. */
  onlyFrom: v.optional(vState),
  minedAs: v.optional(v.string()),
  traded: v.optional(vTraded),
};

/** `moveOn`, with fields that only some steps have. */
export async function take(
  ctx: MutationCtx,
  transactionId: Id<"transactions">,
  { onlyFrom, ...step }: ObjectType<typeof vStep>,
): Promise<void> {
  const row = await byId(ctx, transactionId);
  if (onlyFrom !== undefined && row.state !== onlyFrom) return;
  await moveOn(ctx, row, step);
}

/** Moves a transaction on; a late or repeated step changes nothing. @returns Whether it has changed something. */
export async function moveOn(ctx: MutationCtx, row: Transaction, step: Step): Promise<boolean> {
  const { to, error, errorCode, minedAs, traded } = step;
  if (!mayFollow(row.state, to) || (to === row.state && error === row.error)) return false;
  const now = Date.now();
  const ended = to === "confirmed" || to === "failed";
  await ctx.db.patch("transactions", row._id, {
    state: to,
    ...(error === undefined ? {} : { error }),
    ...(errorCode === undefined ? {} : { errorCode }),
    ...(minedAs === undefined ? {} : { minedAs }),
    ...(traded === undefined ? {} : { traded }),
    ...(ended ? { endedAt: now, ...lookedBackAt(row, now) } : { nextCheckAt: nextCheck(now, row.checks) }),
  });
  if (to === "failed" && row.reserved !== undefined) await release(ctx, row.userId, row.reserved);
  if (ended) await settle(ctx, { ...row, ...(traded === undefined ? {} : { traded }) }, to, error);
  return true;
}

/** Ends the trade, and warns the operator if a swap has brought less than it guaranteed. */
async function settle(
  ctx: MutationCtx,
  row: Transaction,
  to: "confirmed" | "failed",
  error: string | undefined,
): Promise<void> {
  const short = to === "confirmed" ? shortfallOf(row) : null;
  await tellOfEnd(ctx, row, { status: to, error: short ?? error ?? null });
  if (short === null) return settleTrade(ctx, row, to, error);
  log.error("wallets.swap fell short", { transactionId: row._id });
  await recordAudit(ctx, { actor: row.userId, action: "swap fell short", subject: row._id, detail: short });
  await ctx.db.patch("transactions", row._id, { shortAt: Date.now() });
  await settleTrade(ctx, row, "failed", short);
}

/** Tells the webhooks of whose send or swap it is. What `GET /mcp/defi/transaction` shows of it is the whole of it. */
async function tellOfEnd(
  ctx: MutationCtx,
  { userId, _id: transactionId, request, txHash, traded }: Transaction,
  ended: { status: "confirmed" | "failed"; error: string | null },
): Promise<void> {
  if (request.kind !== "send" && request.kind !== "swap") return;
  await tellOwner(ctx, userId, "transaction.ended", () => {
    return {
      transactionId,
      ...request,
      txHash,
      ...ended,
      success: ended.status === "confirmed" && ended.error === null,
      traded,
    };
  });
}

/** An end is looked at again where the chain decided it: what was never signed cannot be mined. */
function lookedBackAt({ handedOutAt }: Transaction, now: number) {
  return { checks: 0, nextCheckAt: handedOutAt === undefined ? NEVER : now + LOOK_BACK_MS[0] };
}

/** The chain has decided otherwise than was believed. @returns Whether that has changed something. */
export async function correct(
  ctx: MutationCtx,
  row: Transaction,
  { to, error, errorCode, minedAs, traded }: Step & { to: "confirmed" | "failed" },
): Promise<boolean> {
  if (!corrects(row.state, to)) return false;
  await ctx.db.patch("transactions", row._id, {
    state: to,
    error,
    errorCode,
    ...(minedAs === undefined ? {} : { minedAs }),
    traded,
    replacedSince: undefined,
    replacedAnswers: undefined,
  });
  if (row.reserved !== undefined) {
    if (to === "failed") await release(ctx, row.userId, row.reserved);
    else await reserveAgain(ctx, row.userId, row.reserved);
  }
  const { traded: _before, ...ended } = row;
  await settle(ctx, { ...ended, ...(traded === undefined ? {} : { traded }) }, to, error);
  return true;
}
