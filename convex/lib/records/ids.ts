import { AppError } from "../errors";

/** Visible characters, without the replacement character: two different ids must not become one. */
export const PRINTABLE = /^[^\p{C}\uFFFD]+$/u;
export const MAX_USER_ID = 128;

/** What earlier clients send if no `userId` is set: it stands for many people, so it belongs to nobody. */
export const SHARED_ID = "mcp-anonymous";
export const NOT_SHARED =
  "must be your own, a long random one: mcp-anonymous is what every client without one sends";

/** A `userId` as `lib/http/input` takes it. @throws AppError `invalid_request` */
export function userIdFrom(text: string): string {
  const userId = text.trim();
  const problem =
    Array.from(text).length > MAX_USER_ID
      ? `must be at most ${MAX_USER_ID} characters`
      : userId === ""
        ? "is required"
        : PRINTABLE.test(userId)
          ? userId === SHARED_ID
            ? NOT_SHARED
            : null
          : "must consist of printable characters";
  if (problem !== null) throw new AppError("invalid_request", `userId ${problem}`);
  return userId;
}

/** So many random letters and digits are as strong as a UUID. */
const LEAST_ID_CHARS = 22;

/** Whether a `userId` is so short that somebody may guess it. */
export function isShort(userId: string): boolean {
  return Array.from(userId).length < LEAST_ID_CHARS;
}
