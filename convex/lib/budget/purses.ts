import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { messageOf } from "../errors";
import { log } from "../log";
import { noteAgain, noteSpent, takeNoted } from "../outside/notes";
import { dayOf } from "../time";
import { named, SHARES, type Billed, type Payer } from "./classes";

/** How actions pay for calls to providers. */

/** Pays for calls; asked before each one. */
export type Purse = {
  /** @param micros What the call costs at most. @throws AppError `rate_limited` when nothing is left. */
  hold: (provider: Billed, micros: number) => Promise<Hold>;
};
/** Money held for a call. */
type Hold = {
  /** Replaces the held amount by the real cost. */
  settle: (micros: number) => Promise<void>;
};

/** For the operator's own scripts, outside a deployment. */
export const UNCOUNTED: Purse = { hold: () => Promise.resolve({ settle: () => Promise.resolve() }) };

export function purseOf(ctx: ActionCtx, payer: Payer): Purse {
  return {
    hold: async (provider, micros) => {
      const { class: of } = named(payer);
      let counted = 0;
      // A class that is never refused need not ask: its costs are stored with the action's other notes.
      if (SHARES[of] === undefined)
        return {
          settle: (cost) => {
            noteSpent({ day: dayOf(Date.now()), payer: of, provider, micros: cost - counted });
            counted = cost;
            return Promise.resolve();
          },
        };
      const reservation = await ctx.runMutation(internal.lib.budget.ledger.hold, { payer, provider, micros });
      counted = micros;
      return {
        settle: async (cost) => {
          const more = cost - counted;
          counted = cost;
          if (more === 0) return;
          const amount = { payer, provider, micros: more, ...reservation };
          // Stored together with the call counts: a mutation of its own would be another call.
          const noted = takeNoted();
          try {
            await ctx.runMutation(internal.lib.budget.ledger.settle, { ...amount, noted });
          } catch (error) {
            noteAgain(noted);
            // An answered call is not lost if it cannot be settled: the held amount stands.
            log.error("budget.unsettled", { provider, message: messageOf(error) });
          }
        },
      };
    },
  };
}
