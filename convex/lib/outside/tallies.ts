import { v } from "convex/values";
import { getOneFrom } from "convex-helpers/server/relationships";
import type { MutationCtx, QueryCtx } from "../../_generated/server";
import { addSpent } from "./spending";
import { vProvider, vSpending } from "../tables";
import { MINUTE } from "../time";
import type { Noted, Outcome, Provider } from "./notes";

/** Notes about providers, as rows. */

export const vNoted = v.object({
  outcomes: v.array(v.object({ provider: vProvider, worked: v.boolean(), failures: v.number() })),
  spent: v.array(vSpending),
});

/** A provider fails from this many failed calls in a row on, until it answers one. */
export const FAILS_FROM = 2;
/** While it goes on failing, this is how often that is written. */
const WRITTEN_EVERY_MS = MINUTE;

export async function keepNoted(ctx: MutationCtx, { outcomes, spent: costs }: Noted): Promise<void> {
  for (const outcome of outcomes) await keepState(ctx, outcome);
  for (const cost of costs) await addSpent(ctx, cost);
}

/** Nothing is written while a provider works. */
async function keepState(ctx: MutationCtx, { provider, worked, failures }: Outcome): Promise<void> {
  const now = Date.now();
  const row = await getOneFrom(ctx.db, "providerStates", "by_provider", provider);
  if (row === null) {
    const failed = failures === 0 ? {} : { failedAt: now };
    await ctx.db.insert("providerStates", { provider, failures, since: now, ...failed });
    return;
  }
  const inRow = Math.min(FAILS_FROM, failures + (worked ? 0 : row.failures));
  if (inRow === row.failures && (failures === 0 || now - (row.failedAt ?? 0) < WRITTEN_EVERY_MS)) return;
  const turned = inRow >= FAILS_FROM !== row.failures >= FAILS_FROM;
  await ctx.db.patch("providerStates", row._id, {
    failures: inRow,
    ...(turned ? { since: now } : {}),
    ...(failures === 0 ? {} : { failedAt: now }),
  });
}

/** Whether a provider is known to work, and its next success would change nothing. */
export async function isWorking(ctx: QueryCtx, provider: Provider): Promise<boolean> {
  return (await getOneFrom(ctx.db, "providerStates", "by_provider", provider))?.failures === 0;
}
