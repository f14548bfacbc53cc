import { real } from "../../scripts/real";

/**
 * Waiting for what comes to be without anybody waiting for it. The limit of the test or of its hook ends a wait in vain,
 * and nothing else: a wait with an end of its own would decide by how fast the machine is.
 */

const FIRST_LOOK_MS = 5;
/** Each look comes later than the one before: what takes long is not slowed down by who waits for it. */
const LATER_BY = 1.25;
const LONGEST_LOOK_MS = 100;

/** What is asked for, as soon as there is something. */
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
