import { createHash } from "node:crypto";
import type { Input } from "./calls";
import type { Called } from "./tools";

/**
 * Idempotency keys of calls that name none. A call without an outcome (it waits for its owner, or its result is
 * unknown) keeps its key for ten minutes: the same terms again ask for its state. An order's key is made of its terms
 * and the time, so that a restarted proxy makes the same one; a later order with the same terms is another.
 */

/** How long an owner has to approve. */
const WINDOW_MS = 600_000;
const MOST = 1_000;

/** The keys of calls without an outcome, by their terms. */
const open = new Map<string, { key: string; until: number }>();
/** The keys of calls with an outcome. */
const ended = new Set<string>();

/** `isMade`: the caller has named none, and is not waiting for an earlier call. */
export type Key = { value: string; isNamed: boolean; isMade: boolean };

/** `null` where none is needed. */
export function keyOf(tool: Called, input: Input): Key | null {
  if (tool.repeats === "freely" || tool.repeats === "again") return null;
  const { idempotencyKey } = input;
  if (typeof idempotencyKey === "string")
    return { value: idempotencyKey.trim(), isNamed: true, isMade: false };
  const terms = termsOf(tool, input);
  const known = open.get(terms);
  if (known !== undefined && known.until > Date.now())
    return { value: known.key, isNamed: false, isMade: false };
  const value = tool.repeats === "keyed" ? crypto.randomUUID() : made(terms);
  return { value, isNamed: false, isMade: true };
}

/** Notes whether a call has an outcome. */
export function noteOutcome(tool: Called, input: Input, { value: key }: Key, isOpen: boolean): void {
  const terms = termsOf(tool, input);
  if (open.size >= MOST) open.clear();
  if (ended.size >= MOST) ended.clear();
  if (!isOpen) {
    open.delete(terms);
    ended.add(key);
  } else if (open.get(terms)?.key !== key) {
    open.set(terms, { key, until: Date.now() + WINDOW_MS });
  }
}

/** In the form of a UUID. */
function made(terms: string): string {
  const window = Math.floor(Date.now() / WINDOW_MS);
  for (let nth = 0; ; nth++) {
    const hex = createHash("sha256")
      .update(JSON.stringify([terms, window, nth]))
      .digest("hex");
    const key = hex.slice(0, 32).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    if (!ended.has(key)) return key;
  }
}

function termsOf({ path }: Called, { idempotencyKey: _, ...terms }: Input): string {
  return JSON.stringify([path, Object.entries(terms).sort(([a], [b]) => (a < b ? -1 : 1))]);
}
