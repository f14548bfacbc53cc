import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { refuseCrowd, waitingAs } from "../lib/limits/crowd";
import { deadlines } from "../lib/outside/deadlines";
import type { Call } from "../lib/http/endpoint";
import { assertMay } from "../users/access";
import { AppError } from "../lib/errors";
import { proposeAlert, proposeCondition } from "./desk";
import type { Condition } from "./language/conditions";
import type { Replay } from "./history/replays";
import { REPLAYED_DAYS } from "./history/rules";
import type { Observation } from "./tables";

/** What the endpoints do, loaded when one is called: alerts say what is told to whom, so a `userId` with an owner is judged
 * as for that. */

type Wanted = { userId: string; text?: string | undefined; condition?: Condition | undefined };

export async function proposal(ctx: ActionCtx, { userId, text, condition }: Wanted, { caller }: Call) {
  if ((text === undefined) === (condition === undefined))
    throw new AppError("invalid_request", "Send text, or a condition: one of the two");
  await assertMay(ctx, userId, "delivery");
  const work = () =>
    condition === undefined
      ? proposeAlert(ctx, { userId, text: text ?? "", caller })
      : proposeCondition(ctx, { userId, condition });
  const { alert, replay } = await waitingAs(ctx, caller, work, refuseCrowd, {
    heldMs: deadlines.alertWords + deadlines.grounding,
  });
  return { alert, replay: shownReplay(replay) };
}

export async function everything(ctx: ActionCtx, { userId }: { userId: string }) {
  await assertMay(ctx, userId, "delivery");
  return { alerts: await ctx.runQuery(internal.alerts.proposals.all, { userId }) };
}

type One = { userId: string; alertId: string };

export async function confirmed(ctx: ActionCtx, input: One, { caller: { address } }: Call) {
  await assertMay(ctx, input.userId, "delivery");
  return { alert: await ctx.runMutation(internal.alerts.proposals.accept, { ...input, address }) };
}

export async function ended(ctx: ActionCtx, input: One) {
  await assertMay(ctx, input.userId, "delivery");
  return { alert: await ctx.runMutation(internal.alerts.proposals.end, input) };
}

const SHOWN = 20;

function shownReplay({ knownSince, fired, latest, holds }: Replay) {
  return {
    days: REPLAYED_DAYS,
    knownSince,
    count: fired.length,
    now: latest === null ? null : shownObservation(latest),
    holdsNow: holds,
    fired: fired.slice(-SHOWN).map(shownObservation),
  };
}

function shownObservation({ observedAt: at, value, source }: Observation) {
  return { at, value, source };
}
