import type { ActionCtx } from "../_generated/server";
import { gather } from "../market/collectors";
import { readAnswer } from "../lib/answers/reader";
import type { Payer } from "../lib/budget/classes";
import { purseOf } from "../lib/budget/purses";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { cut } from "../lib/text/strings";
import { iso } from "../lib/time";
import { askForMarket } from "../market/actions";
import type { Missing } from "../market/tables";
import { describeKeyPrices, signed } from "../market/snapshot";
import { askSentiment } from "../providers/models/sentiment";
import { completeStructured } from "../providers/models/structure";
import { FACTS_FRESH_MS } from "./freshness";
import { onchainQuestion, SENTIMENT_SYSTEM, sentimentQuestion, sentimentShape } from "./writing/prompts";
import type { MarketOutput, Settled } from "./shapes";
import { wantedFor } from "./writing/collections";

/**
 * The sources of the research desk: the fact collectors, and three models. Each returns its reading or why it has none;
 * none throws.
 */

const RAW_LIMIT = 60_000;
const STORED_MOVERS = 10;

/** What is asked, and for whom; with `facts`, the same action is already collecting facts. */
type Collection = { focus: string; payer: Payer; facts: Promise<Missing[]> | null };

export function collectSource(
  ctx: ActionCtx,
  source: Settled["source"],
  { focus, payer, facts }: Collection,
): Promise<Settled> {
  switch (source) {
    case "market":
      return settle("market", () => collectMarket(ctx, focus, payer));
    case "sentiment":
      return settle("sentiment", () => collectSentiment(ctx, focus, payer));
    case "onchain":
      return settle("onchain", () => collectOnchain(ctx, focus, payer));
    case "facts":
      return settle("facts", () => collectFacts(focus, facts));
  }
}

type Good<Source extends Settled["source"]> = Omit<
  Extract<Extract<Settled, { source: Source }>["reading"], { state: "ok" }>,
  "state" | "at"
>;

export function beginFacts(ctx: ActionCtx, focus: string): Promise<Missing[]> {
  return gather(ctx, wantedFor(focus), { freshMs: FACTS_FRESH_MS });
}

async function collectFacts(focus: string, facts: Promise<Missing[]> | null): Promise<Good<"facts">> {
  const missing = (await facts) ?? [];
  const [first] = missing;
  if (first !== undefined && missing.length === wantedFor(focus).length)
    throw new AppError("upstream", first.reason);
  return { missing };
}

async function settle<Source extends Settled["source"]>(
  source: Source,
  collect: () => Promise<Good<Source>>,
): Promise<{ source: Source; reading: { state: "ok"; at: number } & Good<Source> } | Failed<Source>> {
  try {
    const good = await collect();
    return { source, reading: { state: "ok", at: Date.now(), ...good } };
  } catch (error) {
    return { source, reading: { state: "failed", at: Date.now(), error: messageOf(error) } };
  }
}

type Failed<Source> = { source: Source; reading: { state: "failed"; at: number; error: string } };

async function collectMarket(ctx: ActionCtx, focus: string, payer: Payer): Promise<Good<"market">> {
  const market = await askForMarket(ctx, focus, payer);
  return { model: market.model, tokensUsed: market.tokensUsed, output: marketOutput(market) };
}

function marketOutput({
  figures,
  focus,
  raw,
  sources,
}: Awaited<ReturnType<typeof askForMarket>>): MarketOutput {
  return {
    trending: figures.trending,
    movers: figures.top20
      .map(({ symbol, price, change24h, source }) => ({ symbol, price, change24h, source }))
      .sort((a, b) => Math.abs(b.change24h) - Math.abs(a.change24h))
      .slice(0, STORED_MOVERS),
    keyPrices: describeKeyPrices(figures),
    focus: focus ? `${focus.name} (${focus.symbol}) $${focus.price} (${signed(focus.change24h)} %)` : null,
    sources,
    marketDataRaw: cut(raw, RAW_LIMIT),
  };
}

async function collectSentiment(ctx: ActionCtx, focus: string, payer: Payer): Promise<Good<"sentiment">> {
  const now = Date.now();
  const purse = purseOf(payer);
  const answer = await askSentiment(purse, SENTIMENT_SYSTEM, sentimentQuestion(focus, iso(now)), now);
  const read = readAnswer(sentimentShape, answer.text, answer.citations.join("\n"));
  if ("problem" in read) {
    throw new AppError("upstream", `The sentiment model sent an unusable answer: ${read.problem}`);
  }
  return {
    model: answer.model,
    tokensUsed: answer.tokensUsed,
    output: { ...read.value, degraded: answer.degraded, citations: answer.citations },
  };
}

async function collectOnchain(ctx: ActionCtx, focus: string, payer: Payer): Promise<Good<"onchain">> {
  const patience = { turnMs: deadlines.llmScheduled, attempts: 2, payer };
  const answer = await completeStructured(ctx, onchainQuestion(focus, iso(Date.now())), patience);
  return { model: answer.model, tokensUsed: answer.tokensUsed, output: answer.value };
}
