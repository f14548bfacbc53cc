import { real } from "../../scripts/real";

/**
 * Waiting for what comes to be without anybody waiting for it. The limit of the test or of its hook ends a wait in vain,
 * and nothing else: a wait with an end of its own would decide by how fast the machine is.
 */

const LOOK_MS = 5;

/** What is asked for, as soon as there is something. */
export async function eventually<T>(ask: () => Promise<T | null | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== null && answer !== undefined) return answer;
    await new Promise((resolve) => real.setTimeout(resolve, LOOK_MS));
  }
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  await eventually(async () => ((await condition()) ? true : null));
}
