import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../lib/outside/deadlines";
import { HOUR, iso, MINUTE, unlessLate } from "../lib/time";
import { standing, vStanding } from "../market/facts";
import { vWanted } from "../market/tables";
import { describeResearch } from "../research/model";
import { wantedFor } from "../research/writing/brief";
import { latestSignals } from "../signals/model";
import { TOKENS } from "../signals/rules";
import { latestAlerts } from "../whales/model";

/** The context of an answer: the market's facts, today's signals, the last whales, and the user's own data. */

/** Chat uses facts of this age; older ones are collected again while the caller waits a moment. */
export const FRESH_MS = 5 * MINUTE;
/** Older facts say nothing about the present. */
const FACTS_GOOD_MS = 2 * HOUR;
const SIGNALS_WITHIN_MS = 24 * HOUR;
const WHALES_WITHIN_MS = 6 * HOUR;
const WHALES = 6;

const vContext = v.object({
  facts: vStanding.fields.facts,
  /** What has to be collected again. */
  old: v.array(vWanted),
  /** This service's own data: what it is, and a line of it. */
  own: v.array(v.object({ name: v.string(), says: v.string() })),
});
export type Context = Infer<typeof vContext>;

/** What is stored at `now` (epoch ms); of a user's own data if there is a user. */
export const stored = internalQuery({
  args: { userId: v.union(v.string(), v.null()), wanted: v.array(vWanted), now: v.number() },
  returns: vContext,
  handler: async (ctx, { userId, wanted, now }): Promise<Context> => {
    const { absent: old } = await standing(ctx, { wanted, withinMs: FRESH_MS, at: now });
    const known = await standing(ctx, { wanted: wantedFor(""), withinMs: FACTS_GOOD_MS, at: now });
    const signals = (await latestSignals(ctx, TOKENS))
      .filter(({ generatedAt }) => now - generatedAt < SIGNALS_WITHIN_MS)
      .map(({ token, signal, entry, tp1, tp2, sl, confidence, status, generatedAt }) => {
        const levels = signal === "HOLD" ? "" : `, targets $${tp1} and $${tp2}, stop $${sl}`;
        const issued = `${status}, issued ${iso(generatedAt)}`;
        return `${token} ${signal} at $${entry}${levels}, confidence ${confidence} %, ${issued}`;
      });
    const whales = (await latestAlerts(ctx, now - WHALES_WITHIN_MS, WHALES)).map(
      ({ token, alertType, amount, direction, description, detectedAt, verified, movement }) =>
        `${iso(detectedAt)} ${token} ${alertType}, $${amount}, ${direction}: ${description}` +
        (movement !== undefined
          ? " (measured on Base)"
          : ` (reported by a model, ${verified ? "its transaction verified" : "not verified"} on chain)`),
    );
    const research = userId === null ? [] : await describeResearch(ctx, userId);
    const named = (name: string, lines: readonly string[]) => lines.map((says) => ({ name, says }));
    return {
      facts: known.facts,
      old,
      own: [
        ...named("this service's trading signals", signals),
        ...named("movements this service was told of", whales),
        ...named("this user's research with this service", research),
      ],
    };
  },
});

/** The holdings of a user's custody wallet, in a line; `null` without a wallet, or if the chain does not answer in time. */
export async function portfolioOf(ctx: ActionCtx, userId: string): Promise<string | null> {
  const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
  if (wallet === null) return null;
  try {
    const { portfolioOf: read } = await import("../wallets/holdings");
    const late = () => new Error("The chain did not answer in time");
    const end = AbortSignal.timeout(deadlines.chatContext);
    const { balances, totalValueUsd, pricedAt } = await unlessLate(read(ctx, wallet.address), end, late);
    const held = balances.filter(({ raw }) => raw !== "0").map(({ token, balance }) => `${balance} ${token}`);
    return `As of ${iso(pricedAt)}: ${held.join(", ") || "empty"}. Total $${totalValueUsd}.`;
  } catch (error) {
    log.warn("chat.no portfolio", { reason: messageOf(error) });
    return null;
  }
}
