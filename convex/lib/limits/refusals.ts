import { AppError } from "../errors";
import type { Quota } from "./quotas";
import { HOUR, MINUTE, SECOND } from "../time";

/** The answer to a caller who was stopped by a limit: what is used up, whose limit it is, and when there is more. */

/** @param what The subject of "… is used up". */
export function usedUp(what: string, quota: Quota): AppError {
  const said = what.charAt(0).toUpperCase() + what.slice(1);
  return new AppError("rate_limited", `${said} is used up: there is more in ${inWords(quota.againMs)}`, {
    retryAfterMs: quota.againMs,
  });
}

/** Rounded up: `1 second`, `25 minutes`, `3 hours`. */
export function inWords(ms: number): string {
  const [unit, name] =
    ms < 2 * MINUTE ? [SECOND, "second"] : ms < 2 * HOUR ? [MINUTE, "minute"] : [HOUR, "hour"];
  const count = Math.max(1, Math.ceil(ms / unit));
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
