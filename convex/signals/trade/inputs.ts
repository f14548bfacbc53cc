import { absentWhenEmpty, tokenOf } from "../../lib/input";
import { TOKENS } from "./rules";

/** A token that has signals; nothing for all of them. */
export const signalToken = absentWhenEmpty(tokenOf(TOKENS, "must be BTC or ETH")).describe(
  "BTC or ETH, in any case, or by name; omit for both.",
);
