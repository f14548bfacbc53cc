import type { ActionCtx } from "../_generated/server";
import { beginGathering, type Gathered } from "../evidence/desk";
import { keyOf, LISTS } from "../evidence/model";
import type { Fact } from "../evidence/tables";
import { readAnswer } from "../lib/answers/reader";
import type { Payer } from "../lib/budget/classes";
import { purseOf } from "../lib/budget/purses";
import { deadlines } from "../lib/outside/deadlines";
import { AppError, messageOf } from "../lib/errors";
import { cut } from "../lib/text/strings";
import { iso } from "../lib/time";
import { askForMarket, type AskedMarket } from "../market/desk";
import { describeKeyPrices, signed } from "../market/model";
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
type Collection = { focus: string; payer: Payer; facts: Promise<Gathered> | null };

export function collectSource(
  ctx: ActionCtx,
  source: Settled["source"],
  { focus, payer, facts }: Collection,
): Promise<Settled> {
  switch (source) {
    case "market":
      return settle("market", () => collectMarket(ctx, { focus, payer, facts }));
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

export function beginFacts(ctx: ActionCtx, focus: string): Promise<Gathered> {
  return beginGathering(ctx, wantedFor(focus), { freshMs: FACTS_FRESH_MS });
}

async function collectFacts(focus: string, facts: Promise<Gathered> | null): Promise<Good<"facts">> {
  const missing = (await (await facts)?.missing) ?? [];
  const [first] = missing;
  if (first !== undefined && missing.length === wantedFor(focus).length)
    throw new AppError("upstream", first.reason);
  return { missing };
}

/** The market's lists, if this action is collecting all of them; `null` if it is not, or one fails. */
async function ownLists(facts: Promise<Gathered>): Promise<Fact[] | null> {
  const { own } = await facts;
  const lists = LISTS.flatMap((list) => own.get(keyOf(list))?.facts ?? []);
  if (lists.length < LISTS.length) return null;
  return Promise.all(lists).then(
    (all) => all.flat(),
    () => null,
  );
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

async function collectMarket(ctx: ActionCtx, { focus, payer, facts }: Collection): Promise<Good<"market">> {
  const lists = facts === null ? undefined : ownLists(facts);
  const market = await askForMarket(ctx, focus, payer, lists);
  return { model: market.model, tokensUsed: market.tokensUsed, output: marketOutput(market) };
}

function marketOutput({ figures, raw, sources }: AskedMarket): MarketOutput {
  const { focus } = figures;
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
