import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { AppError, getErrorMessage } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../platform/outside/deadlines";
import { HOUR, toIso, rejectWhenLate } from "../lib/time";
import { getFactsAt, vFactsAt } from "../market/facts";
import { describeResearch } from "../research/model";
import { listCollectionsFor } from "../research/writing/brief";
import { listLatestSignals } from "../signals/model";
import { SIGNAL_TOKENS } from "../signals/rules";
import { listLatestAlerts } from "../whales/model";

/** The context of an answer: the market's facts, the latest signals, the last whales, and the user's own data. */

/** Older facts do not describe the present. */
const FACTS_GOOD_MS = 2 * HOUR;
const WHALES_WITHIN_MS = 6 * HOUR;
const WHALES = 6;

/** The name of a user's own research among the sources. */
export const OWN_RESEARCH = "this user's research with this service";

const vContext = v.object({
  facts: vFactsAt.fields.facts,
  /** The service's own data: what it is, and its text in one line. */
  statements: v.array(v.object({ name: v.string(), says: v.string() })),
});
export type Context = Infer<typeof vContext>;

/** The stored context at `now` (epoch ms), with a user's own data if there is a user. */
export const readContext = internalQuery({
  args: { userId: v.union(v.string(), v.null()), now: v.number() },
  returns: vContext,
  handler: async (ctx, { userId, now }): Promise<Context> => {
    const { facts } = await getFactsAt(ctx, {
      requested: listCollectionsFor(""),
      withinMs: FACTS_GOOD_MS,
      at: now,
    });
    const signals = (await listLatestSignals(ctx, SIGNAL_TOKENS)).map(
      ({ token, signal, entry, tp1, tp2, sl, confidence, status, generatedAt }) => {
        const levels = signal === "HOLD" ? "" : `, targets $${tp1} and $${tp2}, stop $${sl}`;
        const issued = `${status}, issued ${toIso(generatedAt)}`;
        return `${token} ${signal} at $${entry}${levels}, confidence ${confidence} %, ${issued}`;
      },
    );
    const whales = (await listLatestAlerts(ctx, now - WHALES_WITHIN_MS, WHALES)).map(
      ({ token, alertType, amount, direction, description, detectedAt, verified, movement }) =>
        `${toIso(detectedAt)} ${token} ${alertType}, $${amount}, ${direction}: ${description}` +
        (movement !== undefined
          ? " (measured on Base)"
          : ` (reported by a model, ${verified ? "its transaction verified" : "not verified"} on chain)`),
    );
    const research = userId === null ? [] : await describeResearch(ctx, userId);
    const nameLines = (name: string, lines: readonly string[]) => lines.map((says) => ({ name, says }));
    return {
      facts,
      statements: [
        ...nameLines("this service's trading signals", signals),
        ...nameLines("movements this service was told of", whales),
        ...nameLines(OWN_RESEARCH, research),
      ],
    };
  },
});

/** The holdings of a user's custody wallet; empty without a wallet, or if the chain does not answer in time. */
export async function readHoldings(ctx: ActionCtx, userId: string): Promise<Context["statements"]> {
  const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, {
    userId,
    kind: "custody",
  });
  if (wallet === null) return [];
  const { readPortfolio } = await import("../wallets/holdings");
  const late = () => new AppError("upstream", "The chain did not answer in time");
  try {
    const read = readPortfolio(ctx, wallet);
    const found = await rejectWhenLate(read, AbortSignal.timeout(deadlines.chatContext), late);
    const held = found.balances.filter(({ raw }) => raw !== "0");
    const text = held.map(({ token, balance }) => `${balance} ${token}`).join(", ") || "empty";
    const says = `As of ${toIso(found.pricedAt)}: ${text}. Total $${found.totalValueUsd}.`;
    const name =
      wallet.book === undefined ? "this user's own wallet, read on chain" : "this user's book on paper";
    return [{ name, says }];
  } catch (error) {
    log.warn("chat.no portfolio", { reason: getErrorMessage(error) });
    return [];
  }
}
