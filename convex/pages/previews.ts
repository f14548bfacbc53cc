import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { AppError } from "../lib/errors";
import { HOUR } from "../lib/time";
import type { Caller } from "../platform/limits/callers";
import { charge } from "../platform/limits/charges";
import { holdSlot } from "../platform/limits/slots";
import { toSignalId } from "../signals/rules";

/** Pictures for previews of links, each kept for a state of its subject, and drawn only for subjects that there are. */

/** @returns The PNG in base64. @throws AppError `not_found`, `rate_limited` */
export async function readPreview(ctx: ActionCtx, name: string, caller: Caller): Promise<string> {
  const state = await findState(ctx, name);
  if (state === null) throw new AppError("not_found", `There is no picture of ${name}`);
  const key = `picture:${name} ${state}`;
  const stored = await ctx.runQuery(internal.platform.cache.readAnswerAt, { key });
  const isFinal = state !== "PENDING";
  if (stored !== null && (isFinal || Date.now() - stored.fetchedAt < HOUR)) return stored.body;
  await charge(ctx, "question", caller);
  const { drawPreview } = await import("./pictures");
  const body = await holdSlot(ctx, caller, () => drawPreview(ctx, name));
  await ctx.runMutation(internal.platform.cache.storeAnswer, { key, body });
  return body;
}

/** The state on which a picture depends; `null` for a subject that there is not, or that has nothing to draw. */
async function findState(ctx: ActionCtx, name: string): Promise<string | null> {
  if (name === "record") {
    const page = { token: null, limit: 1 };
    const { record } = await ctx.runQuery(internal.signals.history.listSignalPage, page);
    return record.trades > 1 ? String(record.n) : null;
  }
  const day = /^[A-Z]+-(\d{4}-\d{2}-\d{2})$/.exec(name)?.[1];
  if (day === undefined) return null;
  const { signals } = await ctx.runQuery(internal.signals.history.getDay, { day });
  return signals.find((one) => toSignalId(one) === name)?.status ?? null;
}
