import type * as z from "zod";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { refuseCrowd, waitingAs } from "../lib/crowd";
import type { Call } from "../lib/http";
import { iso } from "../lib/time";
import { assertMayMove } from "../users/access";
import { conditionShape } from "./grammar";
import type { Alert } from "./model";
import { proposeAlert } from "./proposals";
import type { Replay } from "./replays";
import { REPLAYED_DAYS } from "./rules";
import type { Sink } from "./sinkRows";
import { addSink } from "./sinks";
import type { Observation } from "./tables";
import type { alertShape, replayShape, webhookShape } from "./views";

/** What the endpoints do, loaded when one is called: a `userId` that is a signed-in user's needs that user's token. */

export async function proposal(ctx: ActionCtx, input: { userId: string; text: string }, { caller }: Call) {
  await assertMayMove(ctx, input.userId);
  const work = () => proposeAlert(ctx, { ...input, caller });
  const { alert, replay } = await waitingAs(ctx, caller, work, refuseCrowd);
  return { alert: shownAlert(alert), replay: shownReplay(replay) };
}

export async function everything(ctx: ActionCtx, { userId }: { userId: string }) {
  await assertMayMove(ctx, userId);
  const { alerts, webhooks } = await ctx.runQuery(internal.alerts.proposals.all, { userId });
  return { alerts: alerts.map(shownAlert), webhooks: webhooks.map(shownSink) };
}

type One = { userId: string; alertId: string };

export async function confirmed(ctx: ActionCtx, input: One, { caller: { address } }: Call) {
  await assertMayMove(ctx, input.userId);
  return {
    alert: shownAlert(await ctx.runMutation(internal.alerts.proposals.accept, { ...input, address })),
  };
}

export async function ended(ctx: ActionCtx, input: One) {
  await assertMayMove(ctx, input.userId);
  return { alert: shownAlert(await ctx.runMutation(internal.alerts.proposals.end, input)) };
}

export async function webhookAdded(ctx: ActionCtx, { userId, url }: { userId: string; url: string }) {
  await assertMayMove(ctx, userId);
  const { secret, ...sink } = await addSink(ctx, userId, url);
  return { webhook: shownSink(sink), secret };
}

export async function webhookEnded(ctx: ActionCtx, input: { userId: string; webhookId: string }) {
  await assertMayMove(ctx, input.userId);
  return { webhook: shownSink(await ctx.runMutation(internal.alerts.sinks.remove, input)) };
}

const SHOWN = 20;
const optionalIso = (at: number | null): string | null => (at === null ? null : iso(at));

function shownAlert(alert: Alert): z.input<typeof alertShape> {
  const { alertId, number, state, words, readBy, createdAt, fired, ...times } = alert;
  const { confirmedAt, endedAt, expiresAt, lastFiredAt } = times;
  return {
    ...{ alertId, number, state, words, condition: conditionShape.parse(alert.condition), readBy, fired },
    createdAt: iso(createdAt),
    confirmedAt: optionalIso(confirmedAt),
    endedAt: optionalIso(endedAt),
    expiresAt: optionalIso(expiresAt),
    lastFiredAt: optionalIso(lastFiredAt),
  };
}

function shownReplay({ knownSince, fired, latest, holds }: Replay): z.input<typeof replayShape> {
  return {
    days: REPLAYED_DAYS,
    knownSince: optionalIso(knownSince),
    count: fired.length,
    now: latest === null ? null : shownObservation(latest),
    holdsNow: holds,
    fired: fired.slice(-SHOWN).map(shownObservation),
  };
}

function shownObservation({ observedAt, value, source }: Observation) {
  return { at: iso(observedAt), value, source };
}

function shownSink({ createdAt, ...sink }: Sink): z.input<typeof webhookShape> {
  return { ...sink, createdAt: iso(createdAt) };
}
