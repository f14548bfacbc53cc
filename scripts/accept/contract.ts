import type { Outcome, Row } from "./row";
import { conventions } from "./rows/conventions";
import { market } from "./rows/market";
import { messenger } from "./rows/messenger";
import { owners } from "./rows/owners";
import { payments } from "./rows/payments";
import { research } from "./rows/research";
import { signals } from "./rows/signals";
import { tools } from "./rows/tools";
import { wallets } from "./rows/wallets";

/** The contract: all its rows, and those that are known to differ. */

export const contract: Row[] = [
  ...conventions,
  ...tools,
  ...market,
  ...research,
  ...signals,
  ...wallets,
  ...owners,
  ...messenger,
  ...payments,
];

/** What makes a known difference hold. */
type Subject = "accounts and limits" | "money" | "desk" | "record" | "chat" | "pages" | "tools";

/** Rows as decided that the service does not hold yet. A row that holds is taken out: it may never fall back. */
export const knownDifferences: Readonly<Record<string, Subject>> = {};

/** What is wrong with outcomes: rows that differ and are not known to, and rows known to differ that hold. */
export function faultsOf(outcomes: readonly Outcome[]): string[] {
  return outcomes.flatMap(({ id, outcome, why }) => {
    const subject = knownDifferences[id];
    if (outcome === "differs" && subject === undefined) return [`${id}: ${why ?? ""}`];
    if (outcome === "holds" && subject !== undefined)
      return [`${id} holds: take it out of the known differences (${subject})`];
    return [];
  });
}
