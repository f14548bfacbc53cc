import { AppError } from "../../lib/errors";
import { createPauses } from "../../lib/time";

/**
 * What one node shows at one moment, or a clock, is never final before a deadline: behind one address other nodes may be
 * blocks ahead. A balance or an allowance that looks short, a call that would revert and a node's trouble are "not known
 * yet", before money moves as after it.
 */

/** A failure that another look may not have. Across `ctx.run*` it is a plain `AppError`. */
export class NotKnownYet extends AppError {}

/** The pause before the second look, in ms; each further one is three times as long, up to a second. */
const FIRST_PAUSE_MS = 200;

/**
 * Looks until something is known.
 * @param look Throws `NotKnownYet` for what the next look may see.
 * @param isFinal Whether such a failure is one, after so many looks.
 * @throws what `look` throws, if it is final or anything else
 */
export async function untilKnown<Value>(
  look: () => Promise<Value>,
  isFinal: (failure: NotKnownYet, looks: number) => boolean,
): Promise<Value> {
  const pause = createPauses(FIRST_PAUSE_MS, 3);
  for (let looks = 1; ; looks++) {
    try {
      return await look();
    } catch (error) {
      if (!(error instanceof NotKnownYet) || isFinal(error, looks)) throw error;
    }
    await pause();
  }
}
