import { real } from "../../scripts/real";

/**
 * Waits for events that nobody announces. Only the limit of the test or hook ends a wait in vain: a limit of its own
 * would depend on the machine's speed.
 */

const FIRST_LOOK_MS = 5;
/** Each pause is longer than the one before, so that slow work is not slowed down further. */
const LATER_BY = 1.25;
const LONGEST_LOOK_MS = 100;

/** The first defined result of `ask`. */
export async function eventually<T>(ask: () => Promise<T | null | undefined>): Promise<T> {
  for (let pause = FIRST_LOOK_MS; ; pause = Math.min(LONGEST_LOOK_MS, pause * LATER_BY)) {
    const answer = await ask();
    if (answer !== null && answer !== undefined) return answer;
    await new Promise((resolve) => real.setTimeout(resolve, pause));
  }
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => ((await condition()) ? true : null));
}
