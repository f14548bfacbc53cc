import { literals } from "../lib/literals";
import type { Infer } from "convex/values";
import { HOUR, SECOND } from "../lib/time";

/** Possible problems, as users notice them. Pure. */

export const TROUBLES = ["down", "late", "answers", "wallets", "payments", "messages"] as const;
export const vTrouble = literals(...TROUBLES);
export type Trouble = Infer<typeof vTrouble>;

/** The parts of the health that it uses. */
type Signs = {
  outbox: { oldestSeconds: number | null };
  pending: Readonly<Record<string, number | null>>;
  providers: Readonly<Record<string, { calls: number; errorRate: number }>>;
};

/** Fewer calls say nothing; a problem needs this share of failures. */
const MANY_CALLS = 10;
const BAD_RATE = 0.5;
/** Work resumes within minutes: after a longer wait a person is needed. */
const LATE_MS = HOUR / 2;

const ASKED: readonly [Trouble, readonly string[]][] = [
  ["answers", ["llm", "agentApi", "sentiment"]],
  ["wallets", ["chain", "swap"]],
  ["payments", ["facilitator"]],
  ["messages", ["messenger"]],
];

/** Whether work has waited for too long, by the age of the oldest; `null` if none waits. */
export function isLate(seconds: number | null): boolean {
  return (seconds ?? 0) * SECOND > LATE_MS;
}

/** Whether most calls of a provider fail. */
export function isFailing({ calls, errorRate }: { calls: number; errorRate: number }): boolean {
  return calls >= MANY_CALLS && errorRate > BAD_RATE;
}

/** Current problems, from the last hour. */
export function troublesIn({ outbox, pending, providers }: Signs): Trouble[] {
  const failing = ASKED.filter(([, names]) =>
    names.flatMap((name) => providers[name] ?? []).some(isFailing),
  ).map(([trouble]) => trouble);
  if (isLate(outbox.oldestSeconds)) failing.push("messages");
  if (Object.values(pending).some(isLate)) failing.push("late");
  return TROUBLES.filter((trouble) => failing.includes(trouble));
}
