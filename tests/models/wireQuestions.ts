import type * as z from "zod";
import { restatementQuestion } from "../../convex/alerts/reading";
import { snapshotQuestion, tokenCheck, tokenQuestion } from "../../convex/market/questions";
import type { Question } from "../../convex/providers/models/structure";
import { onchainQuestion, synthesisQuestion } from "../../convex/research/writing/prompts";
import { reviewLedger, reviewQuestion, signalQuestion } from "../../convex/signals/prompts";
import { standingOf } from "../../convex/signals/record";
import type { Market } from "../../scripts/standins/market";

/** Every question that the service asks the gateway for JSON, as it is asked at a moment of the simulated market. */

export type Ask<Shape extends z.ZodType> = (at: number, market: Market) => Question<Shape>;

const iso = (at: number) => new Date(at).toISOString();

const EVIDENCE = [
  "Market as of now: Bitcoin $104500 (+1 %)",
  "Social sentiment at 2026-01-05T09:00:00.000Z: calm",
  "On-chain signals: none could be collected.",
].join("\n");

const NOTHING = standingOf([]);

/** Calls `use` with each question in turn, by its name in the service. */
export async function questions(
  use: <Shape extends z.ZodType>(name: string, ask: Ask<Shape>) => Promise<void>,
): Promise<void> {
  await use("market", (at) => snapshotQuestion(iso(at), "BTC 100000 USD"));
  await use("token", (at) =>
    tokenQuestion(
      { question: "How is SOL doing?", nowIso: iso(at), live: null, searched: [] },
      tokenCheck("How is SOL doing?", [], new Map(), at),
    ),
  );
  await use("on-chain signals", (at) => onchainQuestion("ETH", iso(at)));
  await use("research", (at) =>
    synthesisQuestion(
      { occasion: "Final report", focus: "BTC", nowIso: iso(at), evidence: EVIDENCE },
      // The wire is measured here, not what the figures say.
      () => null,
    ),
  );
  await use("alert", (at) =>
    restatementQuestion(at % 2 === 0 ? "ping me when bitcoin loses a twentieth" : "когда эфир выше 4000"),
  );
  await use("trading signal", (at, market) => {
    const priceUsd = market.coin("BTC", at).price;
    const hours = [3, 2, 1].map((ago) => {
      const { price: close } = market.coin("BTC", at - ago * 3_600_000);
      return { openedAt: at - (ago + 1) * 3_600_000, open: close, high: close, low: close, close, volume: 1 };
    });
    const price = { priceUsd, source: "coinbase", observedAt: at };
    const record = { wins: 0, losses: 0, reliability: null };
    return signalQuestion({ hours, funding: null, token: "BTC", nowMs: at, price, costBps: 15, record });
  });
  await use("day's review", (at) =>
    reviewQuestion(`Review of the day ${iso(at).slice(0, 10)} (UTC).`, reviewLedger([], NOTHING, at)),
  );
  await use("week's review", (at) =>
    reviewQuestion(
      `Review of the week from Monday ${iso(at).slice(0, 10)} (UTC).`,
      reviewLedger([], NOTHING, at),
    ),
  );
}
