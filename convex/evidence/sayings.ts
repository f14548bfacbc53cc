import type { Doc } from "../_generated/dataModel";
import { namesIn } from "../lib/records/records";
import { KINDS, unitOf } from "./kinds";
import type { Fact, Saying } from "./tables";

/** Facts as rows keep them, and as everything else knows them. */

/** The facts of a row. */
export function factsIn({ facts }: Pick<Doc<"facts">, "facts">): Fact[] {
  return facts.flatMap((one): Fact[] => {
    if (!("told" in one)) return [one];
    const { told, ...by } = one;
    return namesIn(KINDS).flatMap((kind) => {
      const value = told[kind];
      return value === undefined ? [] : [{ ...by, kind, value, unit: unitOf(kind) }];
    });
  });
}

/** Facts as rows keep them: what a source said of a subject at once stands together, a quarter as long as fact by fact. */
export function sayingsOf(facts: readonly Fact[]): Saying[] {
  const sayings: Saying[] = [];
  for (const { kind, value, unit: _ofItsKind, ...by } of facts) {
    const last = sayings.at(-1);
    const goesOn =
      last?.told[kind] === undefined &&
      (["subject", "observedAt", "source", "url"] as const).every((field) => last?.[field] === by[field]);
    if (last !== undefined && goesOn) last.told[kind] = value;
    else sayings.push({ ...by, told: { [kind]: value } });
  }
  return sayings;
}
