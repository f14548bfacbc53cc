import { MINUTE, SECOND } from "../../lib/time";

/** Compares the chain's newest block with the service's clock: a block from the future, or minutes old, is no current head. */

/** Clocks differ a little. */
const MOST_AHEAD_MS = MINUTE;
/** Blocks come every two seconds; on a local chain whose clock is hastened, every five minutes of it. */
const MOST_BEHIND_MS = 10 * MINUTE;

/** The problem with a newest block of this time (epoch ms both); `null` for a current one. */
export function findHeadProblem(time: number, now: number): string | null {
  const behind = now - time;
  if (behind < -MOST_AHEAD_MS)
    return `its newest block is ${Math.round(-behind / SECOND)} s ahead of the clock`;
  if (behind > MOST_BEHIND_MS) return `its newest block is ${Math.round(behind / MINUTE)} minutes old`;
  return null;
}
