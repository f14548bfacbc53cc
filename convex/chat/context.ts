import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { internalQuery, type ActionCtx } from "../_generated/server";
import { deadlines } from "../lib/outside/deadlines";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { HOUR, iso, unlessLate } from "../lib/time";
import { describeMarket, latestRow } from "../market/snapshot";
import { readBack } from "../market/snapshot";
import { describeResearch } from "../research/model";
import { latestSignals } from "../signals/model";
import { TOKENS } from "../signals/rules";
import type { Signal } from "../signals/tables";
import { latestAlerts } from "../whales/model";

/** The context of an answer: the market, today's signals, the last whales, and the user's own data. */

/** Older signals are left out. */
const SIGNALS_WITHIN_MS = 24 * HOUR;
const WHALES_WITHIN_MS = 6 * HOUR;
const WHALES = 6;

const vContext = v.object({
  market: v.union(v.string(), v.null()),
  signals: v.union(v.string(), v.null()),
  whales: v.union(v.string(), v.null()),
  research: v.union(v.string(), v.null()),
});
export type Context = Infer<typeof vContext> & { portfolio: string | null };

/** What is stored at `now` (epoch ms), each part as lines for the prompt; `null` if there is nothing. */
export const stored = internalQuery({
  args: { userId: v.union(v.string(), v.null()), now: v.number() },
  returns: vContext,
  handler: async (ctx, { userId, now }) => {
    const row = await latestRow(ctx);
    const snapshot = row === null ? null : readBack(row);
    const signals = await latestSignals(ctx, TOKENS);
    const whales = await latestAlerts(ctx, now - WHALES_WITHIN_MS, WHALES);
    return {
      market: snapshot === null ? null : describeMarket(snapshot),
      signals: lines(signals.filter((one) => now - one.generatedAt < SIGNALS_WITHIN_MS).map(describeSignal)),
      whales: lines(
        whales.map(
          ({ token, alertType, amount, direction, description, detectedAt, verified, movement }) =>
            `${iso(detectedAt)} ${token} ${alertType}, $${amount}, ${direction}: ${description}` +
            (movement !== undefined
              ? " (measured on Base)"
              : ` (reported by a model, ${verified ? "its transaction verified" : "not verified"} on chain)`),
        ),
      ),
      research: userId === null ? null : await describeResearch(ctx, userId),
    };
  },
});

/** The holdings of a user's custody wallet, in a line; `null` without a wallet, or if the chain does not answer in time. */
export async function portfolioOf(ctx: ActionCtx, userId: string): Promise<string | null> {
  const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind: "custody" });
  if (wallet === null) return null;
  try {
    const accounts = await import("../wallets/holdings");
    const read = accounts.portfolioOf(ctx, wallet.address);
    const end = AbortSignal.timeout(deadlines.chatContext);
    const { balances, totalValueUsd, pricedAt } = await unlessLate(
      read,
      end,
      () => new Error("The chain did not answer in time"),
    );
    const holdings = balances.filter(({ raw }) => raw !== "0");
    const parts = holdings.map(
      ({ token, balance, valueUsd }) => `${balance} ${token}${valueUsd === null ? "" : ` ($${valueUsd})`}`,
    );
    return `As of ${iso(pricedAt)}: ${parts.length === 0 ? "empty" : parts.join(", ")}. Total $${totalValueUsd}.`;
  } catch (error) {
    log.warn("chat.no portfolio", { reason: messageOf(error) });
    return null;
  }
}

function describeSignal({
  token,
  signal,
  entry,
  tp1,
  tp2,
  sl,
  confidence,
  status,
  generatedAt,
}: Signal): string {
  const levels = signal === "HOLD" ? "" : `, targets $${tp1} and $${tp2}, stop $${sl}`;
  return `${token} ${signal} at $${entry}${levels}, confidence ${confidence} %, ${status}, issued ${iso(generatedAt)}`;
}

function lines(parts: readonly string[]): string | null {
  return parts.length === 0 ? null : parts.join("\n");
}
