import type { Payer } from "../../lib/budget/classes";
import { DAY, HOUR, iso } from "../../lib/time";
import type { Asking, Desk } from "../record/rows";
import { LAB_TOKENS, TOKENS, type LabToken } from "../trade/rules";

/** For which tokens and times each kind of arm owes a signal, and how models are asked for it. */

type Slots = {
  tokens: readonly LabToken[];
  /** How long a slot lasts, and its name. A signal that is not issued in its slot is never issued. */
  slotMs: number;
  slotName: string;
};

/** How models are asked. */
type AskingTerms = {
  /** How often a signal is asked for in all, and how many answers the model may give each time. */
  attempts: number;
  turns: number;
  payer: Payer;
  /** The name under which its jobs take turns with others. */
  owner: string;
};

export const SLOTS: Readonly<Record<Desk, Slots>> = {
  daily: { tokens: TOKENS, slotMs: DAY, slotName: "day" },
  lab: { tokens: LAB_TOKENS, slotMs: HOUR, slotName: "hour" },
  people: { tokens: TOKENS, slotMs: DAY, slotName: "day" },
};

export const ASKING_TERMS: Readonly<Record<Asking, AskingTerms>> = {
  daily: {
    // After 1, 4, 9, 16 and 25 minutes: within the hour, while the day's signal is still of use.
    ...{ attempts: 6, turns: 2, payer: "service", owner: "signals" },
  },
  lab: {
    // An hour later the next signal is asked for.
    ...{ attempts: 2, turns: 1, payer: "lab", owner: "shadow signals" },
  },
};

/** A model is shown this many hours of the market. */
export const HOURS = 48;

/** The slot of a moment, both epoch ms. */
export function slotAt(desk: Desk, time: number): number {
  const { slotMs } = SLOTS[desk];
  return Math.floor(time / slotMs) * slotMs;
}

/** A slot as prompts name it: `2026-01-05`, with the hour if there are several a day. */
export function slotWords(desk: Desk, slot: number): string {
  const length = SLOTS[desk].slotMs === DAY ? "2026-01-05".length : "2026-01-05T09:00".length;
  return iso(slot).slice(0, length).replace("T", " ");
}
