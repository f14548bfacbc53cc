import { defineTable } from "convex/server";
import { v } from "convex/values";
import type { RecordsOf } from "../../lib/records";

export const custodyTables = {
  /** Private keys, sealed. Written and read by `wallets/custody` alone. Kept as long as the wallet. */
  walletKeys: defineTable({
    walletId: v.string(),
    userId: v.string(),
    /** AES-256-CBC and HMAC, bound to the wallet id (`lib/security/seals`). */
    sealedKey: v.string(),
  }).index("by_walletId", ["walletId"]),
};

export const custodyRecords: RecordsOf<typeof custodyTables> = {
  walletKeys: { keep: "without it a wallet's money is lost" },
};
