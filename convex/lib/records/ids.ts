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
  if (userId === SHARED_ID) throw new AppError("invalid_request", `userId ${NOT_SHARED}`);
  if (Array.from(userId).length > MAX_USER_ID || !PRINTABLE.test(userId))
    throw new AppError("invalid_request", "userId must be 1 to 128 printable characters");
  return userId;
}

/** So many random letters and digits are as strong as a UUID. */
const LEAST_ID_CHARS = 22;

/** Whether a `userId` is so short that somebody may guess it. */
export function isShort(userId: string): boolean {
  return Array.from(userId).length < LEAST_ID_CHARS;
}
