import type { Address, Hex } from "viem";
import type { Doc, Id } from "../../../_generated/dataModel";
import type { ActionCtx } from "../../../_generated/server";
import { storedAddress } from "../../addresses";
import {
  signAsService,
  signTransaction,
  signTypedData,
  type Signed,
  type Unsigned,
} from "../../custody/signatures";
import { serviceAccountOf } from "../../custody/services";
import { requireAffordable, requireAllowed, requirePermitAllowed } from "./permission";
import { permitData, type Message } from "./quote";

/**
 * The signer: the only module that signs for a user's wallet. It takes a permission, decodes what it would sign, and
 * checks it against that permission's terms. For actions.
 */

/** Signs bytes for the first time. @throws AppError as `livePermission` and `requireAllowed`. */
export async function signOrdered(
  ctx: ActionCtx,
  permissionId: Id<"permissions">,
  {
    address,
    unsigned,
    mostFee,
    least,
  }: { address: Address; unsigned: Unsigned; mostFee: bigint; least?: bigint | undefined },
): Promise<Signed> {
  const check = (permission: Doc<"permissions">) => {
    requireAllowed(permission, unsigned.call, address, least);
    requireAffordable(permission, mostFee);
  };
  return signTransaction(ctx, { permissionId, isFirst: true, check }, unsigned);
}

/** Signs a permit for the call of a permission's swap, whose message the quote's check has read. */
export async function signPermit(
  ctx: ActionCtx,
  permissionId: Id<"permissions">,
  message: Message,
): Promise<Hex> {
  const check = (permission: Doc<"permissions">) => requirePermitAllowed(permission, message);
  return signTypedData(ctx, { permissionId, isFirst: true, check }, permitData(message));
}

/**
 * Signs other bytes for an assigned nonce: the same call with higher fees, or an empty one. A service account needs no
 * permission: it holds gas and redirects nothing.
 * @param call.earlier What the earlier bytes do; `null` for a free nonce.
 */
export async function signAnew(
  ctx: ActionCtx,
  { walletId, address, permissionId }: Pick<Doc<"transactions">, "walletId" | "address" | "permissionId">,
  unsigned: Unsigned,
  earlier: Unsigned["call"] | null,
): Promise<Signed | null> {
  if (serviceAccountOf(walletId) !== null) return signAsService(walletId, unsigned);
  // Bytes of an earlier version of the service have none, and stay as they are.
  if (permissionId === undefined) return null;
  const { call } = unsigned;
  const same = earlier !== null && isSame(call, earlier);
  if (!same && !isNothing(call, storedAddress(address))) return null;
  // The permission allowed the earlier bytes, and these move no more than they do.
  return signTransaction(ctx, { permissionId, isFirst: false, check: () => undefined }, unsigned);
}

type Call = Unsigned["call"];

function isSame(one: Call, other: Call): boolean {
  return one.to === other.to && one.data === other.data && one.value === other.value;
}

function isNothing({ to, data, value }: Call, own: Address): boolean {
  return to === own && data === "0x" && value === 0n;
}
