/** A row of the contract: its sentence, and its check by a client that knows nothing else. */

import type { Need, World } from "./world";

/** The reason why a row was not checked, for the report. */
export class Skipped extends Error {}

/** The difference between an answer and the contract. */
export class Differs extends Error {}

/** One sentence of the contract. `check` throws `Differs` or `Skipped`; otherwise it holds. */
export type Row = {
  id: string;
  says: string;
  /** Its needs besides HTTP. */
  needs?: readonly Need[];
  check: (world: World) => Promise<void>;
};

export type Outcome = {
  id: string;
  says: string;
  outcome: "holds" | "differs" | "skipped";
  why: string | null;
};

/** Checks one row. Any failure, even an unreachable service, counts as a difference. */
export async function checkRow({ id, says, needs = [], check }: Row, world: World): Promise<Outcome> {
  try {
    for (const need of needs) {
      const lack = world.lacks[need];
      if (lack !== undefined) throw new Skipped(lack);
    }
    await check(world);
    return { id, says, outcome: "holds", why: null };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { id, says, outcome: error instanceof Skipped ? "skipped" : "differs", why };
  }
}

/** @throws Differs */
export function require(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Differs(otherwise);
}

/** @throws Differs unless both are the same text, number or truth value. */
export function same(what: string, is: unknown, expected: unknown): void {
  require(is === expected, `${what} is ${format(is)}, not ${format(expected)}`);
}

const format = (value: unknown): string =>
  typeof value === "bigint" ? String(value) : (JSON.stringify(value) ?? "undefined");

/** @throws Differs unless the text matches. */
export function matches(what: string, text: string, pattern: RegExp): void {
  require(pattern.test(text), `${what} does not match ${String(pattern)}: ${text.slice(0, 300)}`);
}
