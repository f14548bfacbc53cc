import type * as z from "zod";

/** An answer's text, checked against its schema. */
export type Writer = (value: unknown) => string;

export function writer(schema: z.ZodType): Writer {
  return (value) => JSON.stringify(schema.parse(value));
}

/**
 * The same for answers that are mostly the one before: to check a long one takes longer than all else that its request
 * does. The last is kept by what it was made from, so nothing has to be told when that changes. Answers must be JSON as
 * they come to the schema.
 */
export function keepingWriter(schema: z.ZodType): Writer {
  const write = writer(schema);
  let last: { given: string; text: string } | null = null;
  return (value) => {
    const given = JSON.stringify(value);
    if (last?.given !== given) last = { given, text: write(value) };
    return last.text;
  };
}
