import { HOUR } from "../../lib/time";
import type { Watch } from "./subjects";
import type { Observation } from "../tables";

/** When an alert fires, on paper. The tick does the same by indexes, for all alerts of a subject at once. */

/** After it has fired an alert is quiet for this long. */
export const QUIET_MS = HOUR;

/** How far back a replay looks. */
export const REPLAYED_DAYS = 7;

/** Whether a value is at the level or beyond it. */
export function holds({ side, level }: Pick<Watch, "side" | "level">, value: number): boolean {
  return side === "over" ? value >= level : value <= level;
}

/** A movement is over at once: whatever was seen before it, the next one may fire. */
export function isEvent(subject: string): boolean {
  return subject.startsWith("flow:");
}

/** Whether an observation says more than the last one: a source that is behind tells what was so before. */
export function isNews({ observedAt }: Observation, last: Observation | null, subject: string): boolean {
  return last === null || isEvent(subject) || observedAt > last.observedAt;
}

/**
 * What an alert that was set at `since` (epoch ms) would have fired at. It fires when the condition begins to hold, and then
 * not before it has been seen not to hold, an hour later at the earliest.
 * @param observations Of its subject, by `at`; the ones until `since` only say how things stood.
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
