import { absentWhenEmpty, wholeNumber } from "../lib/input";

const MAX_HOURS = 168;
const DEFAULT_HOURS = 6;

/** The window of whale alerts. */
export const hours = absentWhenEmpty(wholeNumber(1, MAX_HOURS))
  .transform((hours) => hours ?? DEFAULT_HOURS)
  .describe(`How many hours to look back, 1 to ${MAX_HOURS}; ${DEFAULT_HOURS} when left out.`);
