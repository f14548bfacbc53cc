import { defineSchema } from "convex/server";
import { accountTables } from "./account/tables";
import { alertTables } from "./alerts/tables";
import { botTables } from "./bot/tables";
import { creditTables } from "./credits/tables";
import { evidenceTables } from "./evidence/tables";
import { libTables } from "./lib/tables";
import { marketTables } from "./market/tables";
import { messengerTables } from "./messenger/tables";
import { depositTables } from "./payments/deposits/tables";
import { paidTables } from "./payments/reports/tables";
import { transferTables } from "./payments/transfers";
import { priceTables } from "./prices/tables";
import { researchTables } from "./research/tables";
import { runTables } from "./runs/tables";
import { socialTables } from "./social/tables";
import { signalTables } from "./signals/tables";
import { userTables } from "./users/tables";
import { custodyTables } from "./wallets/custody/tables";
import { walletTables } from "./wallets/tables";
import { transactionTables } from "./wallets/transactions/tables";
import { whaleTables } from "./whales/tables";

export default defineSchema({
  ...libTables,
  ...evidenceTables,
  ...marketTables,
  ...priceTables,
  ...researchTables,
  ...runTables,
  ...signalTables,
  ...alertTables,
  ...messengerTables,
  ...botTables,
  ...walletTables,
  ...transactionTables,
  ...transferTables,
  ...paidTables,
  ...depositTables,
  ...custodyTables,
  ...whaleTables,
  ...creditTables,
  ...socialTables,
  ...userTables,
  ...accountTables,
});
