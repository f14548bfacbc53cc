import { SECOND } from "../time";

/** A caller's limits and what is left of them, as headers (draft-ietf-httpapi-ratelimit-headers). */

export type Quota = {
  /** For example `chat-user`. */
  name: string;
  /** The most at once, and the ms after which all of it is available again. */
  most: number;
  windowMs: number;
  /** What `most` counts, if not requests. */
  unit?: "concurrent-requests" | "cents";
  left: number;
  /** In ms: when all of it is available again, or, if it is used up, when some of it is. */
  againMs: number;
};

/** `"chat-user";q=60;w=120` and `"chat-user";r=59;t=2`, one after another. */
export function quotaHeaders(quotas: readonly Quota[]): Record<string, string> {
  if (quotas.length === 0) return {};
  const policy = ({ name, most, windowMs, unit }: Quota) =>
    `"${name}";q=${most}${unit === undefined ? "" : `;qu="${unit}"`};w=${seconds(windowMs)}`;
  const state = ({ name, left, againMs }: Quota) =>
    `"${name}";r=${Math.max(0, Math.floor(left))};t=${seconds(againMs)}`;
  return {
    "RateLimit-Policy": quotas.map(policy).join(", "),
    RateLimit: quotas.map(state).join(", "),
  };
}

/** `chatUser` is `chat-user`. */
export function quotaName(limit: string): string {
  return limit.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function seconds(ms: number): number {
  return Math.max(0, Math.ceil(ms / SECOND));
}
