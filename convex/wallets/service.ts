import type { Doc, Id } from "../_generated/dataModel";
import type { MutationCtx, QueryCtx } from "../_generated/server";
import { NOBODY, queryByBoth } from "../platform/records";
import { BLANK, findWalletById, NOT_ENDED, PREPARED_FOR_MS, requireWallet } from "./model";
import type { ServiceRequest } from "./tables";

/**
 * The service's own accounts, which belong to no user, and their orders. The relayer pays for settlements and gas, the
 * anchor writes the head of the signal record. Plain functions, part of their caller's transaction.
 */

const SERVICE_ROLES = ["relayer", "anchor"] as const;
export type ServiceRole = (typeof SERVICE_ROLES)[number];

/** @param address Checksummed. Each key that was ever configured is an account of its own. */
function toServiceWalletId(role: ServiceRole, address: string): string {
  return `${role}_${address}`;
}

/** The role and address of a service account; `null` for a user's wallet. */
export function parseServiceWalletId(walletId: string): { role: ServiceRole; address: string } | null {
  const role = SERVICE_ROLES.find((one) => walletId.startsWith(`${one}_`));
  return role === undefined ? null : { role, address: walletId.slice(role.length + 1) };
}

/** The newest transaction of a service account, or else of its role's newest account; `null` if there is none. */
export async function findLastSent(
  ctx: QueryCtx,
  role: ServiceRole,
  address?: string,
): Promise<Doc<"orders"> | null> {
  const accounts = queryByBoth(ctx.db.query("wallets"), "userId", NOBODY, "kind", role);
  const ownWalletId = address === undefined ? null : toServiceWalletId(role, address);
  const walletId = ownWalletId ?? (await accounts.order("desc").first())?.walletId;
  if (walletId === undefined) return null;
  const orders = ctx.db.query("orders");
  return orders
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", walletId))
    .order("desc")
    .first();
}

/** Whether a service account has an order that is about to be signed. */
export async function isAboutToSign(ctx: QueryCtx, role: ServiceRole, address: string): Promise<boolean> {
  const walletId = toServiceWalletId(role, address);
  const open = queryByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "prepared");
  return (await open.first()) !== null;
}

/**
 * Opens an order of a service account, without an owner or limits. The caller executes it with
 * `execution.executeOrder`.
 * @param address The account's, checksummed.
 */
export async function openServiceOrder(
  ctx: MutationCtx,
  role: ServiceRole,
  address: string,
  request: ServiceRequest,
): Promise<Id<"orders">> {
  const { walletId } = await ensureServiceAccount(ctx, role, address);
  const opened = { state: "prepared", by: "service", nextCheckAt: Date.now() + PREPARED_FOR_MS } as const;
  return ctx.db.insert("orders", { ...BLANK, walletId, userId: NOBODY, address, request, ...opened });
}

/** A service account's row, made if it is missing. @param address Checksummed. */
export async function ensureServiceAccount(
  ctx: MutationCtx,
  role: ServiceRole,
  address: string,
): Promise<Doc<"wallets">> {
  const walletId = toServiceWalletId(role, address);
  if ((await findWalletById(ctx, walletId)) === null)
    await ctx.db.insert("wallets", { walletId, userId: NOBODY, kind: role, address });
  return requireWallet(ctx, walletId);
}

/** Reopens a service account's order that ended before a signature. @returns Whether it was reopened. */
export async function reopenServiceOrder(ctx: MutationCtx, row: Doc<"orders">): Promise<boolean> {
  if (row.state !== "failed" || row.tries.length > 0) return false;
  const opened = { state: "prepared", nextCheckAt: Date.now() + PREPARED_FOR_MS } as const;
  await ctx.db.patch("orders", row._id, { ...opened, ...NOT_ENDED });
  return true;
}
