import * as z from "zod";
import type { Call } from "../lib/http/endpoint";
import { isShort } from "../lib/records/ids";

/** A field of every answer about a wallet of a short `userId` without an owner. */
export const weakId = {
  warning: z.string().optional().describe("A warning: the userId is short and has no owner"),
};

const WARNING =
  "This userId is short, so somebody may guess it, and whoever knows it controls the wallet: own it by the ownerUrl that /mcp/defi/connect answers, or use a long random one.";

/** The warning for a caller, or none. */
export function warned({ named, caller }: Pick<Call, "named" | "caller">): { warning?: string } {
  const isFree = caller.credential === undefined || caller.credential === "unclaimed";
  return named !== undefined && isFree && isShort(named) ? { warning: WARNING } : {};
}
