import type { ActionCtx } from "../_generated/server";
import { AppError } from "./errors";
import { noteCounted } from "./limits/charges";
import type { Caller } from "./limits/callers";
import { waitingAs } from "./limits/crowd";
import { deadlines } from "./outside/deadlines";
import { awaitRefresh } from "./refreshes";
import type { Ticket } from "./tables";

/** Cached things (`lib/refreshes`) for callers who wait for them. For actions. */

/** `awaitRefresh` for a caller: a stranger waits only a moment while as many strangers as are allowed already wait. */
export async function awaitAs(
  ctx: ActionCtx,
  caller: Caller,
  ticket: Ticket,
  patienceMs: number,
): Promise<void> {
  const wait = (ms: number) => awaitRefresh(ctx, ticket, AbortSignal.timeout(ms));
  await waitingAs(
    ctx,
    caller,
    () => wait(patienceMs),
    () => wait(deadlines.crowded),
  );
}

/**
 * Reads something cached, making it anew when it has aged.
 * @param freshMs Up to this age the stored value is returned as it is, and nothing is written.
 * @returns The fresh value; when making it takes longer than a caller waits, the last one, however old.
 * @throws AppError `upstream` when making it failed, or took too long with no earlier value to give.
 */
export async function readThrough<Value extends { fetchedAt: number }>(
  ctx: ActionCtx,
  steps: {
    /** Who makes it, as a caller is told. */
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
  // Whoever began it was counted; those who join were not.
  if (ticket.isNew === true) noteCounted(steps.caller, "refresh");
  await awaitAs(ctx, steps.caller, ticket, deadlines.caller);
  const value = await steps.read();
  if (value === null)
    throw new AppError("upstream", `${steps.upstream} did not answer in time: ask again shortly`);
  return value;
}
