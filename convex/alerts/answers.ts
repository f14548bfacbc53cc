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

/** What `POST /alerts` does, loaded when it is called. */

type Wanted = { userId: string; text?: string | undefined; condition?: Condition | undefined };

/** An alert decides what its owner is told, so for a `userId` with an owner the rules of delivery settings apply. */
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
