import { HOUR, SECOND } from "../lib/time";

/** The problems that users notice. Pure. */

const TROUBLES = ["answers", "messages", "wallets", "payments", "late"] as const;
export type Trouble = (typeof TROUBLES)[number];

/** The parts of the health that troubles depend on. */
type Signs = {
  outbox: { oldestSeconds: number | null };
  pending: Readonly<Record<string, number | null>>;
  providers: Readonly<Record<string, { works: boolean }>>;
};

/** Interrupted work resumes within minutes: a longer wait needs a person. */
const LATE_MS = HOUR / 2;

const ASKED: readonly [Trouble, readonly string[]][] = [
  ["answers", ["llm", "agentApi", "sentiment"]],
  ["wallets", ["chain", "swap"]],
  ["payments", ["facilitator"]],
  ["messages", ["messenger"]],
];

/** Whether work has waited for too long. @param seconds The age of the oldest; `null` without waiting work. */
export function isOverdue(seconds: number | null): boolean {
  return (seconds ?? 0) * SECOND > LATE_MS;
}

/** Current problems. */
export function listTroubles({ outbox, pending, providers }: Signs): Trouble[] {
  const failing = ASKED.filter(([, names]) => names.some((name) => providers[name]?.works === false)).map(
    ([trouble]) => trouble,
  );
  if (isOverdue(outbox.oldestSeconds)) failing.push("messages");
  if (Object.values(pending).some(isOverdue)) failing.push("late");
  return TROUBLES.filter((trouble) => failing.includes(trouble));
}
