import type * as z from "zod";

/** Reads what a deployment shows to everybody, for the commands that check it. */

const TIMEOUT_MS = 30_000;

/** What kept a record from being checked. */
export class Unreadable extends Error {}

/**
 * One answer of a deployment.
 * @param what What it is to be, for the reader of the error: "signal record".
 * @throws Unreadable
 */
export async function read<Shape extends z.ZodType>(
  base: string,
  path: string,
  shape: Shape,
  what: string,
): Promise<z.output<Shape>> {
  const url = `${base.replace(/\/+$/, "")}${path}`;
  let response: Response;
  let text: string;
  try {
    response = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = await response.text();
  } catch {
    throw new Unreadable(`${url} cannot be reached`);
  }
  if (!response.ok) throw new Unreadable(`${url} answered with status ${response.status}`);
  return parsed(shape, text, url, what);
}

/** @throws Unreadable */
function parsed<Shape extends z.ZodType>(
  shape: Shape,
  text: string,
  where: string,
  what: string,
): z.output<Shape> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Unreadable(`${where} holds no JSON`);
  }
  const result = shape.safeParse(json);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new Unreadable(`${where} is no ${what}: ${issue?.path.join(".") ?? ""} ${issue?.message ?? ""}`);
}
