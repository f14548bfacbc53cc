import { defineTable } from "convex/server";
import { v } from "convex/values";
import type { RecordsOf } from "../../platform/records";
import type { SealContext } from "../../lib/seals";

export const custodyTables = {
  /** Sealed private keys. Written and read by `wallets/custody` alone. Kept as long as the wallet. */
  walletKeys: defineTable({
    walletId: v.string(),
    userId: v.string(),
    /** AES-256-CBC and HMAC, bound to the wallet id (`lib/seals`). */
    sealedKey: v.string(),
  }).index("by_walletId", ["walletId"]),
};

export const custodyRecords: RecordsOf<typeof custodyTables> = {
  walletKeys: {
    keep: "without it a wallet's money is lost",
    sealed: {
      envelope: ({ sealedKey }) => sealedKey,
      context: ({ walletId }) => getKeySeal(walletId),
      replace: (db, { _id }, sealedKey) => db.patch("walletKeys", _id, { sealedKey }),
    },
  },
};

/** The seal context of a key: it opens only for its own wallet. */
export function getKeySeal(walletId: string): SealContext {
  return { purpose: "wallet private key", owner: walletId };
}
