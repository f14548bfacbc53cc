import { v } from "convex/values";
import { closedFields, issuedFields, vLinks } from "../eventTables";

/** The events of shadow signals as the database holds them; `signals/lab/eventShapes` has the same shapes and says what they mean. */

const slot = {
  arm: v.string(),
  token: v.union(v.literal("BTC"), v.literal("ETH"), v.literal("SOL")),
  hour: v.string(),
};

const vIssued = v.object({ ...slot, ...issuedFields, model: v.string(), promptVersion: v.string() });

const vClosed = v.object({ ...slot, ...closedFields, gapMinutes: v.number() });

const vMissed = v.object({
  ...slot,
  reason: v.union(v.literal("refused"), v.literal("failed"), v.literal("budget")),
  at: v.string(),
});

export const vShadowEvent = v.union(
  v.object({ ...vLinks, kind: v.literal("issued"), content: vIssued }),
  v.object({ ...vLinks, kind: v.literal("closed"), content: vClosed }),
  v.object({ ...vLinks, kind: v.literal("missed"), content: vMissed }),
);
