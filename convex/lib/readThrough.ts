import type { ActionCtx } from "../_generated/server";
import { AppError } from "./errors";
import type { Caller } from "./limits/callers";
import { waitingAs } from "./limits/slots";
import { deadlines } from "./outside/deadlines";
import { awaitRefresh } from "./refreshes";
import type { Ticket } from "./tables";

/** Cached things (`lib/refreshes`) for callers who wait for them. For actions. */

/** `awaitRefresh` for a caller, who holds a slot meanwhile. @throws AppError `rate_limited` without one. */
export async function awaitAs(
  ctx: ActionCtx,
  caller: Caller,
  ticket: Ticket,
  patienceMs: number,
): Promise<void> {
  const wait = () => awaitRefresh(ctx, ticket, AbortSignal.timeout(patienceMs));
  await waitingAs(ctx, caller, wait, { heldMs: patienceMs });
}

/**
 * Reads a cached value, and renews it when it is old.
 * @param freshMs Up to this age the stored value is returned, and nothing is written.
 * @returns The fresh value; if renewing takes longer than a caller waits, the last one, however old.
 * @throws AppError `upstream` if renewing failed, or took too long and there is no earlier value.
 */
export async function readThrough<Value extends { fetchedAt: number }>(
  ctx: ActionCtx,
  steps: {
    /** The name of the source, for callers. */
    upstream: string;
    freshMs: (value: Value) => number;
    caller: Caller;
    read: () => Promise<Value | null>;
    begin: () => Promise<Ticket>;
  },
): Promise<Value> {
  const stored = await steps.read();
  if (stored !== null && Date.now() - stored.fetchedAt < steps.freshMs(stored)) return stored;
  const ticket = await steps.begin();
  await awaitAs(ctx, steps.caller, ticket, deadlines.caller);
  const value = await steps.read();
  if (value === null)
    throw new AppError("upstream", `${steps.upstream} did not answer in time: ask again shortly`);
  return value;
}
