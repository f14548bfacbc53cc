/** What a caller has of something, for the answer when it is used up. */
export type Quota = {
  /** For example `chat-user`. */
  name: string;
  /** The most at once, and the ms after which all of it is available again. */
  most: number;
  windowMs: number;
  left: number;
  /** In ms: when some of it is available again. */
  againMs: number;
};

/** `chatUser` is `chat-user`. */
export function quotaName(limit: string): string {
  return limit.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
