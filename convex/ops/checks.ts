import { v } from "convex/values";
import { HOUR, SECOND } from "../lib/time";
import { vRefusing } from "../platform/outside/calls";

/** Checks of the service's own work, and the problems that users notice. */

/** As `ownChecks` of `ops/shapes`; a test compares both. */
export const vOwnChecks = v.object({
  crons: v.record(v.string(), v.union(v.number(), v.null())),
  outbox: v.object({ waiting: v.number(), oldestSeconds: v.union(v.number(), v.null()) }),
  pending: v.record(v.string(), v.union(v.number(), v.null())),
  work: v.object({ running: v.number(), waiting: v.number(), failing: v.number() }),
  providers: v.record(
    v.string(),
    v.object({
      works: v.boolean(),
      since: v.string(),
      failedFrom: v.optional(v.string()),
      refuses: v.optional(vRefusing),
    }),
  ),
  budget: v.object({
    resetsAt: v.string(),
    limitUsd: v.number(),
    spentUsd: v.number(),
    providers: v.record(v.string(), v.number()),
  }),
});

/** The providers of each part, by which it works. */
export const PARTS = {
  answers: ["llm", "agentApi", "sentiment"],
  messages: ["messenger"],
  wallets: ["chain", "swap"],
  payments: ["facilitator"],
} as const satisfies Record<string, readonly string[]>;
export type Part = keyof typeof PARTS;

/** The parts of the health that troubles depend on. */
type Signs = {
  outbox: { oldestSeconds: number | null };
  pending: Readonly<Record<string, number | null>>;
  providers: Readonly<Record<string, { works: boolean }>>;
};

/** Interrupted work resumes within minutes: a longer wait needs a person. */
const LATE_MS = HOUR / 2;

/** Whether work has waited for too long. @param seconds The age of the oldest; `null` without waiting work. */
export function isOverdue(seconds: number | null): boolean {
  return (seconds ?? 0) * SECOND > LATE_MS;
}

/** Whether a part has trouble now. */
export function isTroubled(part: Part, { outbox, providers }: Signs): boolean {
  const isFailing = PARTS[part].some((name) => providers[name]?.works === false);
  return isFailing || (part === "messages" && isOverdue(outbox.oldestSeconds));
}

/** Whether any work is late. */
export function isLate({ pending }: Signs): boolean {
  return Object.values(pending).some(isOverdue);
}
