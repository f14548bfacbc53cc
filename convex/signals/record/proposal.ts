import * as z from "zod";
import { line, usd, usdOrNull } from "../../lib/shapes";

/** What is no price is no level, which a BUY or a SELL must have: `signals/trade/rules` says so. */
const level = usdOrNull.describe("USD; null for HOLD");

/**
 * What the model must send. Whether it may be issued, `signals/trade/rules` says. Levels on a HOLD mean nothing, so whatever
 * stands for them, or does not, is null.
 */
export const proposalShape = z
  .object({
    signal: z.enum(["BUY", "SELL", "HOLD"]),
    entry: usd.describe("USD, within 0.5 % of the live price, which takes its place"),
    tp1: level,
    tp2: level,
    sl: level,
    confidence: z.number().describe("whole percent, 0 to 100: the probability that tp1 is reached before sl"),
    reasoning: line(800).describe("two to four sentences"),
  })
  .overwrite((value) => (value.signal === "HOLD" ? { ...value, tp1: null, tp2: null, sl: null } : value));
