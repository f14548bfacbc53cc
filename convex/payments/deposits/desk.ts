import { v } from "convex/values";
import { internal } from "../../_generated/api";
import { required } from "../../lib/env";
import { messageOf } from "../../lib/errors";
import { log } from "../../lib/log";
import { worker } from "../../lib/work/desk";
import { sightTransfers, type Sighting } from "../../providers/chain/transfers";
import { asAddress, asHex } from "../../wallets/addresses";
import { vCheck, type Check, type Finding } from "./model";

/** Looks up transactions on the chain that webhooks have named. */

/**
 * Looks up transactions on the chain that webhooks have named, and stores the result. Transactions without a result are
 * looked up again later. Every hint is changed with what is stored of it, so another attempt goes on with the others.
 */
export const check = worker({ checks: v.array(vCheck) }, async (ctx, { checks }) => {
  const sought = await ctx.runQuery(internal.payments.deposits.checks.sought, { checks });
  if (sought.length === 0) return "over";
  const later: Check[] = [];
  try {
    const sightings = await sightTransfers(
      sought.map(({ txHash, seenIn }) => ({
        txHash: asHex(txHash),
        ...(seenIn === undefined ? {} : { seenIn }),
      })),
      asAddress(required("PLATFORM_WALLET_ADDRESS")),
    );
    for (const [i, { hintId, attempt, seenIn }] of sought.entries()) {
      const finding = findingOf(sightings[i], seenIn !== undefined);
      if (finding === null) {
        later.push({ hintId, attempt });
        continue;
      }
      try {
        let next: number | null = 0;
        while (next !== null) {
          const piece: Piece = { hintId, attempt, finding, next };
          next = await ctx.runMutation(internal.payments.deposits.checks.reconcile, piece);
        }
      } catch (error) {
        log.error("deposits.unexpected", { hintId, error: messageOf(error) });
        later.push({ hintId, attempt });
      }
    }
  } catch (error) {
    log.warn("deposits.chain unknown", { count: sought.length, error: messageOf(error) });
    later.push(...sought.map(({ hintId, attempt }) => ({ hintId, attempt })));
  }
  if (later.length > 0) await ctx.runMutation(internal.payments.deposits.checks.postpone, { checks: later });
  return "over";
});

type Piece = Check & { finding: Finding; next: number };

/** `null` if the chain's answer says nothing. @param isKept Deposits of it stand: an answer that is too large takes none back. */
function findingOf(sighting: Sighting | undefined, isKept: boolean): Finding | null {
  switch (sighting?.kind) {
    case undefined:
    case "unknown":
    case "refused":
      return null;
    case "too large":
      return isKept ? null : sighting;
    case "absent":
      return sighting;
    case "mined":
      return {
        ...sighting,
        transfers: sighting.transfers.map(({ amount, ...rest }) => ({ ...rest, amount: amount.toString() })),
      };
  }
}
