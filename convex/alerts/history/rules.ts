import { HOUR } from "../../lib/time";
import type { Watch } from "./subjects";
import type { Observation } from "../tables";

/**
 * The rules by which an alert fires. The tick applies the same rules by indexes, to all alerts of a subject at once.
 */

/** An alert is quiet for this long after it has fired. */
export const QUIET_MS = HOUR;

/** How far back a replay looks. */
export const REPLAYED_DAYS = 7;

/** Whether a value is at the level or beyond it. */
export function holds({ side, level }: Pick<Watch, "side" | "level">, value: number): boolean {
  return side === "over" ? value >= level : value <= level;
}

/** A movement is over at once: no matter what was seen before it, the next one may fire. */
export function isEvent(subject: string): boolean {
  return subject.startsWith("flow:");
}

/** Whether an observation is newer than the last one: a source that is behind reports an earlier state. */
export function isNews({ observedAt }: Observation, last: Observation | null, subject: string): boolean {
  return last === null || isEvent(subject) || observedAt > last.observedAt;
}

/**
 * When an alert that was set at `since` (epoch ms) would have fired. It fires when the condition begins to hold. It
 * fires again only after the condition has stopped holding, and an hour later at the earliest.
 * @param observations Of its subject, by `at`; those until `since` only give the state at the beginning.
 */
export function replay(watch: Watch, observations: readonly Observation[], since: number): Observation[] {
  const fired: Observation[] = [];
  let last: Observation | null = null;
  let readyAt = since + 1;
  let phase: "waiting" | "armed" | "resting" = "waiting";
  for (const one of observations) {
    if (!isNews(one, last, watch.subject)) continue;
    if (phase === "waiting" && readyAt <= one.at && (last !== null || isEvent(watch.subject))) {
      const rests = last !== null && !isEvent(watch.subject) && holds(watch, last.value);
      phase = rests ? "resting" : "armed";
    }
    if (phase === "armed" && holds(watch, one.value)) {
      fired.push(one);
      phase = "waiting";
      readyAt = one.at + QUIET_MS;
    } else if (phase === "resting" && !holds(watch, one.value)) phase = "armed";
    last = one;
  }
  return fired;
}
