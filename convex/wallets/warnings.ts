import * as z from "zod";
import { guessableWarning } from "../lib/records/ids";

/** What every answer about a wallet carries whose `userId` could be guessed. */
export const weakId = {
  warning: z.string().optional().describe("What the caller should know: the userId could be guessed"),
  suggestedUserId: z
    .string()
    .optional()
    .describe("Beside a warning: a random userId, which nobody has and which a new wallet could have"),
};

/**
 * These fields for a `userId`; none for one that nobody guesses.
 * @param userId As the caller names it.
 * @param key An idempotency key: a repeat has to have the same answer, and a suggestion is another one each time.
 */
export function warned(
  userId: string | undefined,
  key?: string,
): { warning?: string; suggestedUserId?: string } {
  const told = userId === undefined ? null : guessableWarning(userId);
  return told === null ? {} : key === undefined ? told : { warning: told.warning };
}
