import { noteSpent } from "../outside/notes";
import { dayOf } from "../time";
import { named, type Billed, type Payer } from "./classes";

/** How actions pay for calls to providers: each call's cost is noted, and stored with the action's other notes. */

export type Purse = {
  /** @param micros What a call has cost. */
  pay: (provider: Billed, micros: number) => void;
};

/** For the operator's own scripts, outside a deployment. */
export const UNCOUNTED: Purse = { pay: () => undefined };

export function purseOf(payer: Payer): Purse {
  const { class: of, holders } = named(payer);
  return {
    pay: (provider, micros) => noteSpent({ day: dayOf(Date.now()), payer: of, provider, micros, holders }),
  };
}
