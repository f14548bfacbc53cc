import * as z from "zod";
import { guessableWarning } from "../lib/records/ids";

/** Fields of every answer about a wallet whose `userId` could be guessed. */
export const weakId = {
  warning: z.string().optional().describe("A warning: the userId could be guessed"),
  suggestedUserId: z.string().optional().describe("With a warning: an unused random userId for a new wallet"),
};

/**
 * These fields for a `userId`; none for a strong one.
 * @param userId As the caller names it.
 * @param key An idempotency key: a repeat gets the same answer, so it cannot contain a new suggestion.
 */
export function warned(
  userId: string | undefined,
  key?: string,
): { warning?: string; suggestedUserId?: string } {
  const warning = userId === undefined ? null : guessableWarning(userId);
  return warning === null ? {} : key === undefined ? warning : { warning: warning.warning };
}
