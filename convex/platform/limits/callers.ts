import type { Auth, UserIdentity } from "convex/server";
import { v, type Infer } from "convex/values";
import { AppError } from "../../lib/errors";
import { literals } from "../../lib/literals";
import { sha256Hex } from "../../lib/crypto";

/** Callers: their credentials, their billing subject, and the actions they may need permission for. */

/**
 * The credential of a caller. `unclaimed`: the id has no owner, so the id is the whole credential. `owner`: the owner's
 * token, or a channel that the owner has confirmed. `key`: an API key of the owner. `id`: only the id of an owned account.
 */
export const vCredential = literals("unclaimed", "owner", "key", "id");
export type Credential = Infer<typeof vCredential>;

/**
 * Actions on a `userId` that need permission. `swap` and `send`: move funds. `delivery`: sets where the user's cards go.
 * `holdings`: shows what the wallets hold. `shifts`: starts and stops research. `alerts`: lists them.
 */
export type Action = "swap" | "send" | "delivery" | "holdings" | "shifts" | "alerts";

/** The permission that an endpoint requires. `shown` only reads the credential, and refuses no caller. */
export const vAccess = literals("shown", "delivery", "holdings", "shifts", "alerts");
export type Access = Infer<typeof vAccess>;

/** The caller of a request: its `userId`, if any, and its network address (`null` for a call from inside the service). */
export const vCaller = v.object({
  userId: v.optional(v.string()),
  address: v.union(v.string(), v.null()),
  /** Whether the request had a valid token of the web application. */
  signedIn: v.optional(v.boolean()),
  /** The token's identity, hashed. */
  identity: v.optional(v.string()),
  /** SHA-256 of the API key in the request. */
  keyHash: v.optional(v.string()),
  /** The caller's credential, where the endpoint requires one. */
  credential: v.optional(vCredential),
  /** The HTTP request, if there is one: work that it begins names it in the log. */
  requestId: v.optional(v.string()),
});
export type Caller = Infer<typeof vCaller>;

const vHolders = {
  /** The user and the address, hashed. */
  holders: v.array(v.string()),
  /** The network around the address, hashed. */
  network: v.optional(v.string()),
};
/** Callers of a class. */
export const vCallersPart = v.object({ class: literals("signedIn", "anonymous"), ...vHolders });
/** The billing subject of a call: the service, a paid report, callers, or the caller who started a shift. */
export const vBillingSubject = v.union(
  literals("service", "paid"),
  vCallersPart,
  v.object({ class: v.literal("shift"), ...vHolders }),
);
export type BillingSubject = Infer<typeof vBillingSubject>;

/** `signedIn`: a token, an owned account or a linked chat stands behind the call. */
export function getCallerClass({
  signedIn,
  credential = "unclaimed",
}: Pick<Caller, "signedIn" | "credential">): "signedIn" | "anonymous" {
  return signedIn === true || credential !== "unclaimed" ? "signedIn" : "anonymous";
}

/** The network that one customer can have: of an IPv6 address the /48, of IPv4 the address itself. */
export function getNetwork(address: string): string {
  return address.endsWith("::/64") ? `${address.split(":").slice(0, 3).join(":")}::/48` : address;
}

/**
 * The billing subject of a caller, hashed: their token, or their own chat or key; their address, and the network around
 * it, of IPv4 the /24. Whoever shows only the id of an owned account uses up no share of its owner's.
 */
export function toBillingSubject(caller: Caller): Infer<typeof vCallersPart> {
  const { userId, address, identity, credential } = caller;
  const isOwn = identity === undefined && (address === null || credential === "key");
  const by = [
    ...(identity === undefined ? [] : [`token:${identity}`]),
    ...(isOwn && userId !== undefined ? [`${credential === "id" ? "named" : "own"}:${userId}`] : []),
    ...(address === null ? [] : [`address:${address}`]),
  ];
  const around = address === null ? null : getNetwork(address).replace(/\.\d+$/, ".0/24");
  const network = around === null ? {} : { network: sha256Hex(`network:${around}`) };
  return { class: getCallerClass(caller), holders: by.map(sha256Hex), ...network };
}

/**
 * The identity in the caller's token.
 * @throws AppError `unauthorized` without a token, or with an invalid one (for which the platform throws).
 */
export async function requireIdentity(ctx: { auth: Auth }): Promise<UserIdentity> {
  const identity = await ctx.auth.getUserIdentity().catch(() => null);
  if (identity === null) {
    throw new AppError(
      "unauthorized",
      "A valid token is needed: sign in, and send it as Authorization: Bearer <token>",
    );
  }
  return identity;
}
