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
const LATE_MS = HOUR / 2;

const ASKED: readonly [Trouble, readonly string[]][] = [
  ["answers", ["llm", "agentApi", "sentiment"]],
  ["wallets", ["chain", "swap"]],
  ["payments", ["facilitator"]],
  ["messages", ["messenger"]],
];

/** Current problems, from the last hour. */
export function troublesIn({ outbox, pending, providers }: Signs): Trouble[] {
  const isLate = (seconds: number | null) => (seconds ?? 0) * SECOND > LATE_MS;
  const isFailing = (name: string) => {
    const { calls = 0, errorRate = 0 } = providers[name] ?? {};
    return calls >= MANY_CALLS && errorRate > BAD_RATE;
  };
  const failing = ASKED.filter(([, names]) => names.some(isFailing)).map(([trouble]) => trouble);
  if (isLate(outbox.oldestSeconds)) failing.push("messages");
  if (Object.values(pending).some(isLate)) failing.push("late");
  return TROUBLES.filter((trouble) => failing.includes(trouble));
}
