import { v, type Infer } from "convex/values";

/** Who asks, as requests and rows name them. */

/**
 * What a caller has shown. `unclaimed`: the id is nobody's, and so the whole credential. `owner`: the owner's token, or a
 * channel that the owner has confirmed. `key`: a key that the owner has made. `id`: it has an owner, and the caller has named
 * it and proved nothing else.
 */
export const vCredential = v.union(
  v.literal("unclaimed"),
  v.literal("owner"),
  v.literal("key"),
  v.literal("id"),
);
export type Credential = Infer<typeof vCredential>;

/**
 * Who is asking: the user as far as they said so, and the network address (`null` where the call came by no network).
 */
export const vCaller = v.object({
  userId: v.optional(v.string()),
  address: v.union(v.string(), v.null()),
  /** Whether they came with a valid token of the web application's. */
  signedIn: v.optional(v.boolean()),
  /** Whose token that is, hashed. */
  identity: v.optional(v.string()),
  /** SHA-256 of the key that they have sent. */
  keyHash: v.optional(v.string()),
  /** What they have shown of who they are, where an endpoint has asked: `id`: they name one that has an owner, and no more. */
  credential: v.optional(vCredential),
  /** The HTTP request, where one is asking: work that is begun for it names it in the log. */
  requestId: v.optional(v.string()),
});
export type Caller = Infer<typeof vCaller>;
