import { defineSchema } from "convex/server";
import { libTables } from "./lib/tables";
import { marketTables } from "./market/tables";
import { messengerTables } from "./messenger/tables";
import { transferTables } from "./payments/transferTables";
import { researchTables } from "./research/tables";
import { runTables } from "./runs/tables";
import { custodyTables } from "./wallets/custody/tables";
import { walletTables } from "./wallets/tables";

export default defineSchema({
  ...libTables,
  ...marketTables,
  ...researchTables,
  ...runTables,
  ...messengerTables,
  ...walletTables,
  ...transferTables,
  ...custodyTables,
});
