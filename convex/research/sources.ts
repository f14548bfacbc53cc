import type { ActionCtx } from "../_generated/server";
import { gather } from "../evidence/desk";
import { readAnswer } from "../lib/answers/reader";
import { purseOf, type Payer } from "../lib/budget/ledger";
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
import type { MarketOutput, Settled, Sources } from "./shapes";
import { wantedFor } from "./writing/collections";

/** The sources of the research desk: the collectors of facts, and three models. Each answers with its reading or with why it has none; none throws. */

const RAW_LIMIT = 60_000;
const STORED_MOVERS = 10;

export function collectSource(
  ctx: ActionCtx,
  source: keyof Sources,
  { focus, payer, owner }: { focus: string; payer: Payer; owner?: string },
): Promise<Settled> {
  switch (source) {
    case "market":
      return settle("market", () => collectMarket(ctx, focus, payer));
    case "sentiment":
      return settle("sentiment", () => collectSentiment(ctx, focus, payer));
    case "onchain":
      return settle("onchain", () => collectOnchain(ctx, focus, payer));
    case "facts":
      return settle("facts", () => collectFacts(ctx, focus, owner));
  }
}

type Good<Source extends keyof Sources> = Omit<Extract<Sources[Source], { state: "ok" }>, "state" | "at">;

async function collectFacts(
  ctx: ActionCtx,
  focus: string,
  owner: string | undefined,
): Promise<Good<"facts">> {
  const wanted = wantedFor(focus);
  const missing = await gather(ctx, wanted, { freshMs: FACTS_FRESH_MS, turnOf: owner });
  const [first] = missing;
  if (first !== undefined && missing.length === wanted.length) throw new AppError("upstream", first.reason);
  return { missing };
}

async function settle<Source extends keyof Sources>(
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
  const asked = await askForMarket(ctx, focus, payer);
  return { model: asked.model, tokensUsed: asked.tokensUsed, output: marketOutput(asked) };
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
  const purse = purseOf(ctx, payer);
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
