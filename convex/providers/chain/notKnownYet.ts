import { AppError } from "../../lib/errors";
import { createPauses } from "../../lib/time";

/**
 * A single read of a node, or a clock, is never final before a deadline: other nodes behind the same address may be
 * blocks ahead. A balance or an allowance that looks short, a call that would revert and a node's failure are "not
 * known yet", both before and after money moves.
 */

/** A failure that a retry may cure. Across `ctx.run*` it is a plain `AppError`. */
export class NotKnownYet extends AppError {}

/** The pause before the first retry, in ms; each further pause is three times as long, up to a second. */
const FIRST_PAUSE_MS = 200;

/**
 * Retries a read until its result is known.
 * @param read Throws `NotKnownYet` for a failure that the next attempt may cure.
 * @param isFinal Whether a failure is final after this many attempts.
 * @throws any other error of `read`, and a final failure
 */
export async function untilKnown<Value>(
  read: () => Promise<Value>,
  isFinal: (failure: NotKnownYet, attempts: number) => boolean,
): Promise<Value> {
  const pause = createPauses(FIRST_PAUSE_MS, 3);
  for (let attempts = 1; ; attempts++) {
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof NotKnownYet) || isFinal(error, attempts)) throw error;
    }
    await pause();
  }
}
