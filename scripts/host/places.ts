import type { FunctionKind } from "./execution";
import { outer } from "./globals";
import { Permits } from "./locks";

/** How much the platform's classes run at the same time; queries and mutations each have this many. */
export const CLASSES = {
  S16: { transactions: 16, actions: 64, scheduled: 8 },
  S256: { transactions: 256, actions: 512, scheduled: 256 },
};
export type PlatformClass = keyof typeof CLASSES;

/** How long a transaction and an action wait for a permit. */
export const PATIENCE_MS = { transaction: 5_000, action: 10_000 } as const;

export function permitsOf(platformClass: PlatformClass): Readonly<Record<FunctionKind, Permits>> {
  const { transactions, actions } = CLASSES[platformClass];
  const permits = (count: number, patience: number, whose: string) =>
    new Permits(
      count,
      { patience, set: outer.setTimeout, clear: outer.clearTimeout },
      `Too many concurrent requests: the deployment's ${whose} are all in use`,
    );
  return {
    query: permits(transactions, PATIENCE_MS.transaction, "queries"),
    mutation: permits(transactions, PATIENCE_MS.transaction, "mutations"),
    action: permits(actions, PATIENCE_MS.action, "actions"),
  };
}
