import type { Body } from "./service";

/**
 * Lists of rows for a model's context: what every row has that a person asks about, without what programs verify, and how
 * many there are beyond them.
 */

/** A list in an answer. */
export type List = {
  name: string;
  /** What a row keeps. */
  keeps: readonly string[];
  /** How many rows a call without a `limit` gets; absent where the service's own number is as small. */
  usual?: number;
};

/** The input with the list's usual length, where it names none. */
export function withLimit(list: List | undefined, input: Body, isNothing: (value: unknown) => boolean): Body {
  if (list?.usual === undefined || !isNothing(input.limit ?? null)) return input;
  return { ...input, limit: list.usual };
}

/** The answer with lean rows. */
export function withLeanRows(list: List | undefined, body: Body): Body {
  const rows = list === undefined ? undefined : body[list.name];
  if (list === undefined || !Array.isArray(rows)) return body;
  return { ...body, [list.name]: rows.map((row: unknown) => leanRow(row, list.keeps)) };
}

function leanRow(row: unknown, keeps: readonly string[]): unknown {
  if (typeof row !== "object" || row === null) return row;
  return Object.fromEntries(Object.entries(row).filter(([name]) => keeps.includes(name)));
}
