import { defineSchema } from "convex/server";
import { libTables } from "./lib/tables";
import { marketTables } from "./market/tables";
import { messengerTables } from "./messenger/tables";
import { researchTables } from "./research/tables";
import { runTables } from "./runs/tables";

export default defineSchema({
  ...libTables,
  ...marketTables,
  ...researchTables,
  ...runTables,
  ...messengerTables,
});
