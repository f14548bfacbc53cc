import type { CallerClass, Payer } from "../budget/classes";
import { holdersOf, type Caller } from "./callers";

/** Who pays for a caller's requests. Kept small because every request loads it; the budget itself is for transactions. */

export function classOf({ signedIn }: Pick<Caller, "signedIn">): CallerClass {
  return signedIn === true ? "signedIn" : "anonymous";
}

/** Who pays for what a caller asks for. */
export function payerOf(caller: Caller): Payer {
  return { class: classOf(caller), holders: holdersOf(caller) };
}
