import { defineSchema } from "convex/server";
import { accountRecords, accountTables } from "./identity/tables";
import { alertRecords, alertTables } from "./alerts/tables";
import { botRecords, botTables } from "./bot/tables";
import { creditRecords, creditTables } from "./credits/tables";
import type { Records } from "./platform/records";
import { platformRecords, platformTables } from "./platform/tables";
import { marketRecords, marketTables } from "./market/tables";
import { messengerRecords, messengerTables } from "./messenger/tables";
import { webhookRecords, webhookTables } from "./messenger/webhooks/tables";
import { paymentRecords, paymentTables } from "./payments/tables";
import { researchRecords, researchTables } from "./research/tables";
import { runRecords, runTables } from "./runs/tables";
import { socialRecords, socialTables } from "./social/tables";
import { signalRecords, signalTables } from "./signals/tables";
import { custodyRecords, custodyTables } from "./wallets/custody/tables";
import { walletRecords, walletTables } from "./wallets/tables";
import { whaleRecords, whaleTables } from "./whales/tables";

export default defineSchema({
  ...platformTables,
  ...marketTables,
  ...researchTables,
  ...runTables,
  ...signalTables,
  ...alertTables,
  ...messengerTables,
  ...webhookTables,
  ...botTables,
  ...walletTables,
  ...custodyTables,
  ...paymentTables,
  ...whaleTables,
  ...creditTables,
  ...socialTables,
  ...accountTables,
});

/** What is known of every table besides its fields: what housekeeping, health, export and deletion loop over. */
export const records: Records = {
  ...platformRecords,
  ...marketRecords,
  ...researchRecords,
  ...runRecords,
  ...signalRecords,
  ...alertRecords,
  ...messengerRecords,
  ...webhookRecords,
  ...botRecords,
  ...walletRecords,
  ...custodyRecords,
  ...paymentRecords,
  ...whaleRecords,
  ...creditRecords,
  ...socialRecords,
  ...accountRecords,
};
