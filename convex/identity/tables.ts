import { defineTable } from "convex/server";
import { v, type Infer } from "convex/values";
import { literals } from "../lib/literals";
import { indexOfUser, indexOlderThan, type RecordsOf } from "../platform/records";

/** The scopes of a key beyond the rights of its owner's `userId`. Every key reads. */
export const vScope = literals("read", "trade", "withdraw");

/** An entry of an owner's list of recipients: a checksummed address, and from when it counts (epoch ms). */
export const vListed = v.object({ address: v.string(), countsFrom: v.number() });
export type Listed = Infer<typeof vListed>;

/** `pendingUntil`: when a claim takes effect (epoch ms), and what would end it; `null` if it has. */
export const vClaimed = v.object({
  userId: v.string(),
  pendingUntil: v.union(v.number(), v.null()),
  note: v.optional(v.string()),
});

export const accountTables = {
  /**
   * Accounts, free or owned. A row exists after the first sign-in, offer or claim; an account without a row is free.
   * Written by `identity/model`, `accounts/profile` and `accounts/chats` (made), `accounts/claims` (given up for another). Kept,
   * also when the user deletes their data: it protects their funds.
   */
  accounts: defineTable({
    /** The id by which every row of the account knows it: the first one that it was used under. */
    userId: v.string(),
    /** The id that its owner has put in place of `userId`, which then names nobody; "" where that was replaced in its turn. */
    name: v.optional(v.string()),

    /**
     * The owner's login: an identity provider's issuer and subject, or a messenger account (`toMessengerLogin`). Absent:
     * free.
     */
    login: v.optional(v.string()),
    /** The login has claimed this id. It can claim no other. */
    claimed: v.optional(v.boolean()),
    /**
     * The pending owner and the time it takes effect (epoch ms): a claim of an id with a wallet or, on an owned account, a
     * change of login by the operator or (`asked`) by its owner. Without a login: a claim was ended, and no new one can begin
     * before.
     */
    claim: v.optional(
      v.object({ login: v.optional(v.string()), dueAt: v.number(), asked: v.optional(v.literal(true)) }),
    ),
    /** The code in its link for an owner, which gives no more than the `userId` beside it. */
    ownerCode: v.optional(v.string()),

    /** How often the rules have changed: unsigned permissions under earlier rules are void. */
    version: v.optional(v.number()),
    /**
     * The limits of 24 hours (digits, micro-USD) with their starts (epoch ms): the last that counts holds. Absent: the
     * default.
     */
    limits: v.optional(v.array(v.object({ dailyMicroUsd: v.string(), countsFrom: v.number() }))),
    /** Addresses to which the owner's keys, chat and posts may send. */
    recipients: v.optional(v.array(vListed)),
    /** Epoch ms: since when nothing is signed for it, and when that ends. */
    frozenAt: v.optional(v.number()),
    thawsAt: v.optional(v.number()),
    /**
     * On paper, where orders move nothing real: since when and, once asked for, from when the account is live (epoch ms).
     * The mutation that makes it live removes the field.
     */
    paper: v.optional(v.object({ since: v.number(), liveFrom: v.optional(v.number()) })),
    /** A messenger account that the owner has unlinked. Until then (epoch ms) no other acts in its place, and it can freeze. */
    formerLink: v.optional(v.object({ messengerId: v.string(), until: v.number() })),

    /** Since when its user's data are being deleted (epoch ms). */
    erasingSince: v.optional(v.number()),
  })
    .index("by_userId", ["userId"])
    .index("by_name", ["name"])
    .index("by_login", ["login"])
    .index("by_claimer", ["claim.login"])
    .index("by_ownerCode", ["ownerCode"])
    .index("by_formerLink", ["formerLink.messengerId", "formerLink.until"]),

  /**
   * Keys that owners give to programs. Written by `accounts/keys`, `accounts/freeze` (a freeze, a changed login) and
   * `identity/access` (used). Kept: orders name the key that ordered them.
   */
  keys: defineTable({
    userId: v.string(),
    /** SHA-256 of its text, which has 256 random bits and is stored nowhere. */
    keyHash: v.string(),
    name: v.string(),
    scopes: v.array(vScope),
    /** Its own limit in 24 hours: digits, micro-USD. */
    dailyMicroUsd: v.optional(v.string()),
    /** Epoch ms: from when it does more than read. */
    countsFrom: v.number(),
    expiresAt: v.optional(v.number()),
    revokedAt: v.optional(v.number()),
    /** The UTC day of its last use that its account answered: `2026-01-05`. */
    usedOn: v.optional(v.string()),
  })
    .index("by_keyHash", ["keyHash"])
    .index("by_userId_and_revokedAt", ["userId", "revokedAt"]),

  /** Links to owners' pages, and the sessions that they open. Written by `accounts/pageSessions`. */
  pageSessions: defineTable({
    userId: v.string(),
    kind: literals("link", "session"),
    /** The credential that requested it: a freeze by a chat cancels less. */
    by: literals("login", "chat"),
    /** SHA-256 of its text, which has 256 random bits and is stored nowhere. */
    tokenHash: v.string(),
    /** The state that it depends on, hashed: it ends with any change of that. */
    basis: v.string(),
    expiresAt: v.number(),
  })
    .index("by_tokenHash", ["tokenHash"])
    .index("by_userId", ["userId"])
    .index("by_expiresAt", ["expiresAt"]),

  /**
   * Addresses that users proved to be theirs; deposits from them are theirs. Written by `accounts/profile`; unlinking
   * deletes.
   */
  addresses: defineTable({
    /** Lower case; linked to one user at most. */
    address: v.string(),
    userId: v.string(),
  })
    .index("by_address", ["address"])
    .index("by_userId", ["userId"]),
};

export const accountRecords: RecordsOf<typeof accountTables> = {
  accounts: {
    keep: "whose funds are whose",
    ownedBy: { rows: indexOfUser("by_userId"), section: "account", onDeletion: "stay" },
    withheld: ["ownerCode", "login"],
  },
  keys: {
    keep: "who ordered a signature",
    ownedBy: { rows: indexOfUser("by_userId_and_revokedAt"), section: "keys", onDeletion: "stay" },
    withheld: ["keyHash"],
  },
  pageSessions: {
    keep: { days: 1, why: "it has expired", aged: indexOlderThan("expiresAt") },
    ownedBy: { rows: indexOfUser("by_userId"), onDeletion: "go" },
  },
  addresses: {
    keep: "deposits from them are their user's, until they unlink them",
    ownedBy: { rows: indexOfUser("by_userId"), section: "addresses", onDeletion: "go" },
  },
};
