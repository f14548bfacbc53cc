import type { Doc } from "../_generated/dataModel";
import { namesIn } from "../lib/records/records";
import { KINDS, unitOf } from "./kinds";
import type { Fact, Kind, Sheet } from "./tables";

/** Facts in their stored and in their usual form. */

type Row = Pick<Doc<"facts">, "facts">;

/** Figures of one source about one subject at one time, by kind. */
type Saying = Omit<Fact, "kind" | "value" | "unit"> & { values: Record<string, Fact["value"]> };

export function factsIn(row: Row): Fact[] {
  return sayingsIn(row).flatMap(({ values, ...by }) =>
    namesIn(KINDS).flatMap((kind): Fact[] => {
      const value = values[kind];
      return value === undefined ? [] : [{ ...by, kind, value, unit: unitOf(kind) }];
    }),
  );
}

/** A row's facts about a subject; `null` if it has none. */
export function factIn(
  row: Row,
  subject: string,
  kind: Kind,
): Pick<Fact, "value" | "observedAt" | "source"> | null {
  for (const { values, observedAt, source, ...one } of sayingsIn(row)) {
    const value = values[kind];
    if (one.subject === subject && value !== undefined) return { value, observedAt, source };
  }
  return null;
}

function sayingsIn({ facts }: Row): Saying[] {
  return facts.flatMap((one) => one.subjects.map((subject, index) => lineOf(one, subject, index)));
}

function lineOf(
  { source, url, ends, observedAt, told: columns }: Sheet,
  subject: string,
  index: number,
): Saying {
  const values = columns.flatMap(({ kind, values: column }) => {
    const value = column[index] ?? null;
    return value === null ? [] : [[kind, value] as const];
  });
  return {
    ...{ subject, source, url: url + (ends[index] ?? ""), observedAt: observedAt[index] ?? 0 },
    values: Object.fromEntries(values),
  };
}

/** Facts in their stored form: grouped by source, a tenth as long as one by one. */
export function sheetsOf(facts: readonly Fact[]): Sheet[] {
  const bySource: [Saying, ...Saying[]][] = [];
  for (const saying of sayingsOf(facts)) {
    const last = bySource.at(-1);
    if (last?.[0].source === saying.source) last.push(saying);
    else bySource.push([saying]);
  }
  return bySource.map((sayings) => {
    const url = sayings.map((one) => one.url).reduce(commonStart);
    const kinds = namesIn(KINDS).filter((kind) => sayings.some(({ values }) => values[kind] !== undefined));
    return {
      ...{ source: sayings[0].source, url },
      ends: sayings.map((one) => one.url.slice(url.length)),
      subjects: sayings.map(({ subject }) => subject),
      observedAt: sayings.map(({ observedAt }) => observedAt),
      told: kinds.map((kind) => ({ kind, values: sayings.map(({ values }) => values[kind] ?? null) })),
    };
  });
}

function sayingsOf(facts: readonly Fact[]): Saying[] {
  const sayings: Saying[] = [];
  for (const { kind, value, unit: _ofItsKind, ...by } of facts) {
    const last = sayings.at(-1);
    const goesOn =
      last?.values[kind] === undefined &&
      (["subject", "observedAt", "source", "url"] as const).every((field) => last?.[field] === by[field]);
    if (last !== undefined && goesOn) last.values[kind] = value;
    else sayings.push({ ...by, values: { [kind]: value } });
  }
  return sayings;
}

/** Ends between whole characters. */
function commonStart(a: string, b: string): string {
  let end = 0;
  while (end < a.length && a[end] === b[end]) end++;
  const start = a.slice(0, end);
  return start.isWellFormed() ? start : start.slice(0, -1);
}
