import { HOUR, SECOND } from "../lib/time";

/** The parts of the service and their problems that users notice. Pure. */

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
