import type { ActionCtx } from "../_generated/server";
import { gather } from "../market/collectors";
import { readAnswer } from "../lib/answers/reader";
import type { Payer } from "../lib/limits/callers";
import { purseOf } from "../lib/limits/costs";
import { AppError, messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { deadlines } from "../lib/outside/deadlines";
import { cut } from "../lib/text/strings";
import { iso, unlessLate, within } from "../lib/time";
import { askForMarket } from "../market/actions";
import { describeKeyPrices, signed } from "../market/snapshot";
import { askSentiment } from "../providers/models/sentiment";
import { completeStructured } from "../providers/models/structure";
import type { Answers, Missing } from "./tables";
import { SHARED_FOR_MS } from "./timing";
import { wantedFor } from "./writing/material";
import { onchainQuestion, SENTIMENT_SYSTEM, sentimentQuestion, sentimentShape } from "./writing/prompts";

/** The sources of research: the fact collectors and three models, all asked at the same time. None throws. */

const RAW_LIMIT = 60_000;
const STORED_MOVERS = 10;

/** @param waitMs What has not come by then is missing: somebody waits. Absent: each source has its own deadline. */
export async function askSources(
  ctx: ActionCtx,
  { focus, payer, waitMs }: { focus: string; payer: Payer; waitMs?: number | undefined },
): Promise<Answers> {
  const end = waitMs === undefined ? null : AbortSignal.timeout(waitMs);
  const late = () => new AppError("upstream", "It did not come in time");
  const missing: Missing[] = [];
  const ask = async <Answer extends object>(collector: string, work: Promise<Answer>) => {
    try {
      return end === null ? await work : await unlessLate(work, end, late);
    } catch (error) {
      const reason = messageOf(error);
      log.warn("research.source failed", { focus, collector, error: reason });
      missing.push({ collector, subject: "", reason });
      return undefined;
    }
  };
  const facts = gather(ctx, wantedFor(focus), { freshMs: SHARED_FOR_MS });
  const [market, sentiment, onchain, uncollected] = await Promise.all([
    ask("market", marketOf(ctx, focus, payer)),
    ask("sentiment", sentimentOf(focus, payer)),
    ask("onchain", onchainOf(ctx, focus, payer)),
    // Facts have rows of their own: what is late there shows when the report is written.
    end === null ? facts : within(end, facts),
  ]);
  return {
    ...(market === undefined ? {} : { market }),
    ...(sentiment === undefined ? {} : { sentiment }),
    ...(onchain === undefined ? {} : { onchain }),
    missing: [...missing, ...(uncollected ?? [])],
  };
}

async function marketOf(ctx: ActionCtx, of: string, payer: Payer): Promise<NonNullable<Answers["market"]>> {
  const { figures, focus, raw, sources } = await askForMarket(ctx, of, payer);
  const { trending, top20 } = figures;
  const movers = top20
    .map(({ symbol, price, change24h, source }) => ({ symbol, price, change24h, source }))
    .sort((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h))
    .slice(0, STORED_MOVERS);
  return {
    trending,
    movers,
    keyPrices: describeKeyPrices(figures),
    focus: focus ? `${focus.name} (${focus.symbol}) $${focus.price} (${signed(focus.change24h)} %)` : null,
    sources,
    marketDataRaw: cut(raw, RAW_LIMIT),
  };
}

async function sentimentOf(focus: string, payer: Payer): Promise<NonNullable<Answers["sentiment"]>> {
  const now = Date.now();
  const question = sentimentQuestion(focus, iso(now));
  const { text, citations, degraded } = await askSentiment(purseOf(payer), SENTIMENT_SYSTEM, question, now);
  const read = readAnswer(sentimentShape, text, citations.join("\n"));
  if ("problem" in read)
    throw new AppError("upstream", `The sentiment model sent an unusable answer: ${read.problem}`);
  return { ...read.value, degraded, citations };
}

async function onchainOf(
  ctx: ActionCtx,
  focus: string,
  payer: Payer,
): Promise<NonNullable<Answers["onchain"]>> {
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  return (await completeStructured(ctx, onchainQuestion(focus, iso(Date.now())), patience)).value;
}
