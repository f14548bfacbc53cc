import { defineTable } from "convex/server";
import { v } from "convex/values";
import { literals } from "../lib/literals";
import { ofUser, older, type RecordsOf } from "../lib/records/records";

export const vLevel = literals("closed", "guarded", "open");

/** A level and its limits (`users/levels`). Sums are digits, micro-USD. */
export const vSetting = v.object({
  level: vLevel,
  /** With `open`: the limit of orders by `userId` alone in 24 hours. */
  capMicroUsd: v.optional(v.string()),
  /** The limits of one order, and of 24 hours, whoever orders. */
  mostMicroUsd: v.optional(v.string()),
  dailyMicroUsd: v.optional(v.string()),
  /** How much of that swaps may lose by their terms, in basis points. */
  lossBps: v.optional(v.number()),
});

/**
 * A key's scopes. `read`: holdings; `research`: starts and stops shifts; `trade`: swaps; `withdraw`: sends; `record`:
 * proposes signals to the owner's arms.
 */
export const vScope = literals("read", "research", "trade", "withdraw");

export const userTables = {
  /**
   * Signed-in users of the web application and the `userId` each owns. Written by `users/profile` (first sign-in),
   * `account/ownership` (claims) and `account/recovery` (a lost login). Kept, also when the user deletes their data: it
   * protects their funds.
   */
  users: defineTable({
    /** The identity provider's issuer and subject. */
    tokenIdentifier: v.string(),
    /** The id by which the HTTP endpoints and the messenger know the user. */
    userId: v.string(),
    /** The user brought the userId along; it was not made at sign-in, and cannot change any more. */
    claimed: v.boolean(),
    createdAt: v.number(),
  })
    .index("by_tokenIdentifier", ["tokenIdentifier"])
    .index("by_userId", ["userId"]),

  /**
   * What a caller may do who only names a user's `userId` (`users/access`); without a row it is `guarded`. Written by
   * `users/levels`, and by `messenger/links` when a former link ends. Kept.
   */
  accountLevels: defineTable({
    userId: v.string(),
    setting: vSetting,
    /**
     * A pending change that loosens the rules, and when it starts to apply (epoch ms); the next change makes an applied
     * one permanent.
     */
    next: v.optional(v.object({ setting: vSetting, dueAt: v.number() })),
    setAt: v.number(),
    /** Whether a messenger account was linked when the level was set, or has been since. */
    linked: v.boolean(),
    /** How often the rules have changed: unsigned permissions under earlier rules are void. */
    version: v.optional(v.number()),
    /** Epoch ms: since when nothing is signed for the account. */
    frozenAt: v.optional(v.number()),
    /** Epoch ms: the last freeze, which cancelled pending changes that would loosen the rules. */
    calledOffAt: v.optional(v.number()),
    /** The formerly linked messenger account, and until when it has a say (`messenger/links`). */
    formerLink: v.optional(v.object({ messengerId: v.string(), until: v.number() })),
    /** Epoch ms: until then orders and delivery settings by `userId` alone are refused without asking. */
    blockedUntil: v.optional(v.number()),
  })
    .index("by_userId", ["userId"])
    .index("by_formerLink", ["formerLink.messengerId"]),

  /**
   * Keys that owners give to programs. Written by `account/keys` and, for its last use, `users/keys`. Kept: they say
   * who ordered a signature.
   */
  apiKeys: defineTable({
    userId: v.string(),
    /** SHA-256 of its text, which has 256 random bits and is stored nowhere. */
    keyHash: v.string(),
    name: v.string(),
    scopes: v.array(vScope),
    /** Its limit in 24 hours: digits, micro-USD. */
    dailyMicroUsd: v.optional(v.string()),
    createdAt: v.number(),
    expiresAt: v.optional(v.number()),
    /** To the hour. */
    lastUsedAt: v.optional(v.number()),
    revokedAt: v.optional(v.number()),
  })
    .index("by_keyHash", ["keyHash"])
    .index("by_userId_and_revokedAt", ["userId", "revokedAt"]),

  /**
   * Ids that owners have put in place of the one that their account began with. All rows keep the first one
   * (`users/names`). Written by `users/names` and `account/ids`. Kept, so that no id is ever used again.
   */
  userNames: defineTable({
    /** The account. */
    userId: v.string(),
    name: v.string(),
    /** Epoch ms at which another id replaced it. */
    replacedAt: v.optional(v.number()),
  })
    .index("by_name", ["name"])
    .index("by_userId_and_replacedAt", ["userId", "replacedAt"]),

  /** Addresses that users proved to be theirs; deposits from them are theirs. Written by `users/addresses`; unlinking deletes. */
  linkedAddresses: defineTable({
    /** Lower case; linked to one user at most. */
    address: v.string(),
    userId: v.string(),
    linkedAt: v.number(),
  })
    .index("by_address", ["address"])
    .index("by_userId", ["userId"]),

  /** The open challenge to prove an address, at most one per user. Written by `users/addresses`; using it deletes it. */
  addressNonces: defineTable({
    userId: v.string(),
    /** Lower case. */
    address: v.string(),
    nonce: v.string(),
    expiresAt: v.number(),
  })
    .index("by_userId", ["userId"])
    .index("by_expiresAt", ["expiresAt"]),
};

export const userRecords: RecordsOf<typeof userTables> = {
  users: { keep: "whose funds are whose" },
  accountLevels: {
    keep: "it guards the user's funds",
    ownedBy: { rows: ofUser("by_userId"), section: "levels", onDeletion: "stay" },
  },
  apiKeys: {
    keep: "who ordered a signature",
    ownedBy: {
      rows: ofUser("by_userId_and_revokedAt"),
      section: "apiKeys",
      inUse: "any",
      onDeletion: "stay",
    },
    withheld: ["keyHash"],
  },
  userNames: {
    keep: "no id is ever used again",
    ownedBy: {
      rows: ofUser("by_userId_and_replacedAt"),
      section: "userIds",
      inUse: "any",
      onDeletion: "stay",
    },
  },
  linkedAddresses: {
    keep: "deposits from them are their user's, until they unlink them",
    ownedBy: { rows: ofUser("by_userId"), inUse: "any", onDeletion: "go" },
  },
  addressNonces: {
    keep: { days: 1, why: "it has expired", aged: older("expiresAt") },
    ownedBy: { rows: ofUser("by_userId"), onDeletion: "go" },
  },
};
