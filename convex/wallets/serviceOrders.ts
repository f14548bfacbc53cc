import type { Doc } from "../_generated/dataModel";
import type { QueryCtx } from "../_generated/server";
import { NOBODY } from "../lib/records/records";
import { rowsByBoth } from "../lib/records/rows";

/** The service's own accounts, and their orders. */

const SERVICE_ROLES = ["relayer", "anchor"] as const;
export type ServiceRole = (typeof SERVICE_ROLES)[number];

/** @param address Checksummed; each key that was ever configured is an account of its own. */
export function serviceWalletId(role: ServiceRole, address: string): string {
  return `${role}_${address}`;
}

/** The role and address of a service account; `null` for a user's wallet. */
export function serviceAccountOf(walletId: string): { role: ServiceRole; address: string } | null {
  const role = SERVICE_ROLES.find((one) => walletId.startsWith(`${one}_`));
  return role === undefined ? null : { role, address: walletId.slice(role.length + 1) };
}

/** The addresses that have ever been accounts of a role, oldest first, at most ten. */
export async function addressesOf(ctx: QueryCtx, role: ServiceRole): Promise<string[]> {
  const accounts = await rowsByBoth(ctx.db.query("wallets"), "userId", NOBODY, "kind", role).take(10);
  return accounts.map(({ address }) => address);
}

/** The transactions of a service account from a nonce on, by nonce. */
export async function sentBy(
  ctx: QueryCtx,
  { role, address, from, limit }: { role: ServiceRole; address: string; from: number; limit: number },
): Promise<Doc<"orders">[]> {
  return ctx.db
    .query("orders")
    .withIndex("by_walletId_and_nonce", (q) =>
      q.eq("walletId", serviceWalletId(role, address)).gte("nonce", from),
    )
    .take(limit);
}

/** The newest transactions of a service account, newest first. */
export async function lastSentBy(
  ctx: QueryCtx,
  role: ServiceRole,
  address: string,
  count: number,
): Promise<Doc<"orders">[]> {
  return ctx.db
    .query("orders")
    .withIndex("by_walletId_and_nonce", (q) => q.eq("walletId", serviceWalletId(role, address)))
    .order("desc")
    .take(count);
}

/** Whether an order of a service account is about to be signed. */
export async function isAboutToSign(ctx: QueryCtx, role: ServiceRole, address: string): Promise<boolean> {
  const walletId = serviceWalletId(role, address);
  const open = rowsByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "prepared");
  return (await open.first()) !== null;
}
