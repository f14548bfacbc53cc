import type { Infer } from "convex/values";
import { setting } from "../env";
import { AppError } from "../errors";
import { SHARDS, type Share } from "../outside/expenses";
import type { vBilled, vPayer } from "../tables";
import { DAY, iso } from "../time";

/** The classes of payers: what each may spend, and how it is refused. Amounts are in millionths of a USD. */

/** Who pays for a call: the service, a paid report, or the caller who asked for it. */
export type Payer = Infer<typeof vPayer>;
export type Class = Share["payer"];
/** The classes of callers. */
export type CallerClass = "signedIn" | "anonymous";
/** A provider that bills by the call. */
export type Billed = Infer<typeof vBilled>;

/** What a class of callers may spend of a provider's budget; a class that is not here is never refused. */
export const SHARES: Partial<Record<Class, number>> = { anonymous: 0.4, signedIn: 0.4, lab: 0.1 };
const MICROS = 1_000_000;

/** The class of a payer, and the callers whose parts of it count. */
export function named(payer: Payer): { class: Class; holders: readonly string[] } {
  return typeof payer === "string" ? { class: payer, holders: [] } : payer;
}

export function poolOf({ provider, payer, day }: Share): { pool: string; window: number } {
  return { pool: `${provider}:${payer}`, window: Date.parse(day) };
}

/** One row's part of a payer's share; the whole budget if the payer has no share. */
export function partOf(payer: Class): number {
  const share = SHARES[payer];
  return share === undefined ? Infinity : Math.floor((budgetMicros() * share) / SHARDS);
}

export const WHOSE: Partial<Record<Class, string>> = {
  anonymous: "callers who are not signed in",
  signedIn: "signed-in users",
  lab: "shadow signals",
};

const NAMES: Record<Billed, string> = {
  llm: "the LLM gateway",
  sentiment: "the sentiment model",
  agentApi: "the agent API",
};

/** @param what Whether the whole class has used it up, or this caller its own part. */
export function refusal({ payer, provider }: Omit<Share, "day">, what: "class" | "caller"): AppError {
  const now = Date.now();
  const resetAt = resetAfter(now);
  const budget = `today's budget of ${NAMES[provider]} for ${WHOSE[payer] ?? "this work"}`;
  const subject =
    what === "class" ? `T${budget.slice(1)}` : `Your part, a tenth of what is left, of ${budget}`;
  return new AppError("rate_limited", `${subject} is used up: it is restored at ${iso(resetAt)}`, {
    retryAfterMs: resetAt - now,
  });
}

export function budgetMicros(): number {
  return Number(setting("DAILY_BUDGET_USD")) * MICROS;
}

export function resetAfter(now: number): number {
  return (Math.floor(now / DAY) + 1) * DAY;
}
