import { MINUTE, SECOND } from "../../lib/time";

/** The chain's newest block against the service's clock: one that is ahead of it, or minutes behind it, is no head. */

/** Clocks differ a little. */
const MOST_AHEAD_MS = MINUTE;
/** Blocks come every two seconds; on a local chain whose clock is hastened, every five minutes of it. */
const MOST_BEHIND_MS = 10 * MINUTE;

/** What is wrong with a newest block of that time, epoch ms both; `null` for nothing. */
export function headTrouble(time: number, now: number): string | null {
  const behind = now - time;
  if (behind < -MOST_AHEAD_MS)
    return `its newest block is ${Math.round(-behind / SECOND)} s ahead of the clock`;
  if (behind > MOST_BEHIND_MS) return `its newest block is ${Math.round(behind / MINUTE)} minutes old`;
  return null;
}
