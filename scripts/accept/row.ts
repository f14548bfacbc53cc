/** A row of the contract: its promise, and how a client that has read nothing else checks it. */

/** Why a row was not checked, for the reader of the report. */
export class Skipped extends Error {}

/** The difference between an answer and the contract. */
export class Differs extends Error {}

/** One promise of the contract. It throws `Differs` or `Skipped`; otherwise it holds. */
export type Row = { says: string; look: () => Promise<void> };

export type Outcome = { row: string; outcome: "holds" | "differs" | "skipped"; why: string | null };

/** Checks one row. Any failure, even an unreachable service, counts as a difference. */
export async function outcomeOf({ says, look }: Row): Promise<Outcome> {
  try {
    await look();
    return { row: says, outcome: "holds", why: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { row: says, outcome: error instanceof Skipped ? "skipped" : "differs", why };
  }
}

/** @throws Differs */
export function require(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Differs(otherwise);
}

/** @throws Differs unless both are the same text, number or truth value. */
export function same(what: string, is: unknown, expected: unknown): void {
  require(is === expected, `${what} is ${JSON.stringify(is)}, not ${JSON.stringify(expected)}`);
}
