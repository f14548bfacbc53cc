import { v, type Infer } from "convex/values";
import type { Doc, Id } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import type { Hex } from "viem";
import { NOBODY } from "../lib/ids";
import { AppError } from "../lib/errors";
import { asHex } from "./addresses";
import {
  vRequest,
  vSource,
  vState,
  vReplacement,
  vSwapTerms,
  vTraded,
  type TransactionRequest,
} from "./tables";

/** Finding the machine's rows, and what leaves them. */

export const vView = v.object({
  _id: v.id("transactions"),
  state: vState,
  request: vRequest,
  txHash: v.optional(v.string()),
  nonce: v.optional(v.number()),
  rawTransaction: v.optional(v.string()),
  walletId: v.string(),
  userId: v.string(),
  address: v.string(),
  terms: v.optional(vSwapTerms),
  replacement: v.optional(vReplacement),
  minedAs: v.optional(v.string()),
  handedOutAt: v.optional(v.number()),
  replacedSince: v.optional(v.number()),
  traded: v.optional(vTraded),
  approvalTxHash: v.optional(v.string()),
  error: v.optional(v.string()),
  errorCode: v.optional(v.string()),
  checks: v.number(),
});

export type View = Infer<typeof vView>;

/** The bytes to hand out, or `null` while nothing is signed. */
export function bytesOf({ rawTransaction, replacement }: View): Hex | null {
  const raw = replacement?.rawTransaction ?? rawTransaction;
  return raw === undefined ? null : asHex(raw);
}

/** All hashes under which it may be mined. */
export function hashesOf({ txHash, replacement }: View): Hex[] {
  const own = txHash === undefined ? [] : [txHash];
  const others = replacement === undefined ? [] : [...replacement.outpriced, replacement];
  return [...own, ...others.map(({ txHash: hash }) => hash)].map(asHex);
}

export const vWork = v.object({
  transaction: vView,
  userId: v.string(),
  /** Where its trade was ordered; `null` for an approval. */
  source: v.union(vSource, v.null()),
  /** The wallet's next nonce as far as this service knows; `null` before its first transaction. */
  nextNonce: v.union(v.number(), v.null()),
});
export type Work = Infer<typeof vWork>;

/** Who is named in the audit trail: the user, or a service account by its address. */
export function actorOf({ userId, address }: { userId: string; address: string }): string {
  return userId === NOBODY ? address : userId;
}

/** The accounts that are the service's own. */
const SERVICE_ROLES = ["relayer", "anchor"] as const;
export type ServiceRole = (typeof SERVICE_ROLES)[number];

/** @param address Checksummed; each key that was ever configured is an account of its own. */
export function serviceWalletId(role: ServiceRole, address: string): string {
  return `${role}_${address}`;
}

/** The role and address of a service account; `null` for a wallet of a user's. */
export function serviceAccountOf(walletId: string): { role: ServiceRole; address: string } | null {
  const role = SERVICE_ROLES.find((one) => walletId.startsWith(`${one}_`));
  return role === undefined ? null : { role, address: walletId.slice(role.length + 1) };
}

export async function byId(ctx: QueryCtx, id: Id<"transactions">): Promise<Doc<"transactions">> {
  const row = await ctx.db.get("transactions", id);
  if (row === null) throw new AppError("internal", "The transaction is gone");
  return row;
}

export async function walletById(ctx: QueryCtx, walletId: string): Promise<Doc<"wallets"> | null> {
  return ctx.db
    .query("wallets")
    .withIndex("by_walletId", (q) => q.eq("walletId", walletId))
    .unique();
}

export async function byWalletId(ctx: QueryCtx, walletId: string): Promise<Doc<"wallets">> {
  const wallet = await walletById(ctx, walletId);
  if (wallet === null) throw new AppError("internal", "The wallet is gone");
  return wallet;
}

export async function oldest(ctx: QueryCtx, walletId: string, state: "signed" | "unknown" | "prepared") {
  return ctx.db
    .query("transactions")
    .withIndex("by_walletId_and_state", (q) => q.eq("walletId", walletId).eq("state", state))
    .first();
}

export async function openedWith(ctx: QueryCtx, userId: string, idempotencyKey: string | undefined) {
  if (idempotencyKey === undefined) return null;
  return ctx.db
    .query("transactions")
    .withIndex("by_userId_and_idempotencyKey", (q) =>
      q.eq("userId", userId).eq("idempotencyKey", idempotencyKey),
    )
    .unique();
}

export function sameRequest(a: TransactionRequest, b: TransactionRequest): boolean {
  const canonical = (request: TransactionRequest) => JSON.stringify(Object.entries(request).sort());
  return canonical(a) === canonical(b);
}

export function project(row: Doc<"transactions">) {
  const { _id, state, request, walletId, userId, address, checks } = row;
  return {
    _id,
    walletId,
    userId,
    state,
    request,
    address,
    checks,
    ...(row.txHash === undefined ? {} : { txHash: row.txHash }),
    ...(row.nonce === undefined ? {} : { nonce: row.nonce }),
    ...(row.rawTransaction === undefined ? {} : { rawTransaction: row.rawTransaction }),
    ...(row.terms === undefined ? {} : { terms: row.terms }),
    ...(row.replacement === undefined ? {} : { replacement: row.replacement }),
    ...(row.minedAs === undefined ? {} : { minedAs: row.minedAs }),
    ...(row.handedOutAt === undefined ? {} : { handedOutAt: row.handedOutAt }),
    ...(row.replacedSince === undefined ? {} : { replacedSince: row.replacedSince }),
    ...(row.traded === undefined ? {} : { traded: row.traded }),
    ...(row.approvalTxHash === undefined ? {} : { approvalTxHash: row.approvalTxHash }),
    ...(row.error === undefined ? {} : { error: row.error }),
    ...(row.errorCode === undefined ? {} : { errorCode: row.errorCode }),
  };
}
