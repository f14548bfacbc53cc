/** A stand-in for the social sentiment model's Responses API with its search tool, for local use. */

import * as z from "zod";
import { conforming } from "./gateway/values";
import type { Fault } from "./control";
import { formIn } from "./gateway/form";
import { bearer, json, problemOf, tokensOf, type Call } from "./http";
import { parseJson } from "../json";
import { outlookOf, type Coin, type Market, type Outlook } from "./sources/market";
import { withinTokens } from "./spoilage";
import { hash, random, type Random } from "./random";
import { styled } from "./gateway/styles";
import { focusToken } from "./gateway/words";

const part = z.looseObject({ type: z.string(), text: z.string().optional() });

const requestShape = z.looseObject({
  model: z.string().min(1),
  input: z.union([
    z.string().min(1),
    z.array(z.looseObject({ role: z.string(), content: z.union([z.string(), z.array(part)]) })).min(1),
  ]),
  max_output_tokens: z.int().positive().nullish(),
  reasoning: z.looseObject({ effort: z.enum(["low", "medium", "high", "xhigh"]).nullish() }).nullish(),
  store: z.boolean().nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.string(),
        from_date: z.string().optional(),
        to_date: z.string().optional(),
        allowed_x_handles: z.array(z.string()).max(10).optional(),
        excluded_x_handles: z.array(z.string()).max(10).optional(),
      }),
    )
    .nullish(),
});

type Request = z.infer<typeof requestShape>;

export function createSentiment(options: { seed: string; now: () => number; market: Market }) {
  const respond = (call: Call, fault: Fault | undefined): Response => {
    const parsed = requestShape.safeParse(parseJson(call.body));
    if (!parsed.success) return refuse(400, "invalid-argument", problemOf(parsed.error));
    const request = parsed.data;
    const at = options.now();
    const prompt = promptOf(request);
    const whole = contentOf(prompt, fault, moods(prompt, options.seed, options.market, at));
    const most = (request.max_output_tokens ?? Infinity) - REASONING_TOKENS;
    const { text, isCut } = withinTokens(whole, most, fault);
    const searched = fault?.mode !== "uncited" && searches(request);
    const id = hash(`${at} ${call.body}`).toString(16);
    const [inputTokens, outputTokens] = [tokensOf(prompt), REASONING_TOKENS + tokensOf(text)];
    return json({
      id: `resp_${id}`,
      object: "response",
      created_at: Math.floor(at / 1_000),
      model: `simulated-${request.model}`,
      status: isCut ? "incomplete" : "completed",
      ...(isCut ? { incomplete_details: { reason: "max_output_tokens" } } : {}),
      output: fault?.mode === "empty" ? [] : output(id, text, searched),
      ...(searched && fault?.mode !== "empty" ? { citations: sources(id) } : {}),
      usage: {
        input_tokens: inputTokens,
        output_tokens: outputTokens,
        total_tokens: inputTokens + outputTokens,
        output_tokens_details: { reasoning_tokens: REASONING_TOKENS },
        num_sources_used: searched ? sources(id).length : 0,
        num_server_side_tools_used: searched ? 1 : 0,
      },
    });
  };

  return {
    handle: (call: Call, fault?: Fault): Response => {
      if (bearer(call.headers) === null) {
        return refuse(401, "unauthenticated", "No or an invalid authorization header");
      }
      const path = call.path.replace(/^\/v1(?=\/)/, "");
      if (path === "/models" && call.method === "GET") {
        return json({ object: "list", data: [{ id: "grok-4.3", object: "model", owned_by: "simulated" }] });
      }
      if (path !== "/responses") {
        return refuse(404, "not-found", `Unknown path ${call.path}`);
      }
      return call.method === "POST" ? respond(call, fault) : refuse(405, "method-not-allowed", "Use POST");
    },
  };
}

/** Tokens of the model's reasoning, which count against the answer's limit. */
const REASONING_TOKENS = 2_400;

function contentOf(prompt: string, fault: Fault | undefined, known: unknown): string {
  if (fault?.mode === "reply") return fault.content;
  const form = formIn([prompt]);
  const value = form === undefined ? known : conforming(known, form);
  return fault?.mode === "style" ? styled(value, fault.style) : JSON.stringify(value);
}

export function sentimentError(code: string, error: string): unknown {
  return { code, error };
}

function refuse(status: number, code: string, error: string): Response {
  return json(sentimentError(code, error), status);
}

function promptOf({ input }: Request): string {
  if (typeof input === "string") return input;
  return input
    .map(({ content }) =>
      typeof content === "string" ? content : content.map(({ text }) => text ?? "").join(""),
    )
    .join("\n");
}

/** Like the real one, malformed dates pass silently and no search is made. */
function searches({ tools }: Request): boolean {
  return (tools ?? []).some(
    ({ type, from_date: from, to_date: to }) =>
      type === "x_search" &&
      (from === undefined || isDay(from)) &&
      (to === undefined || isDay(to)) &&
      (from === undefined || to === undefined || from <= to),
  );
}

function isDay(text: string): boolean {
  return z.iso.date().safeParse(text).success;
}

function sources(id: string): string[] {
  const chance = random("sources", id);
  return Array.from({ length: 3 }, () => `https://x.com/i/status/19${chance.whole(1e15, 9e15)}`);
}

function output(id: string, text: string, searched: boolean): unknown[] {
  const search = {
    type: "custom_tool_call",
    id: `ctc_${id}`,
    call_id: `call_${id}`,
    status: "completed",
    name: "x_keyword_search",
    input: JSON.stringify({ query: "crypto", limit: 20 }),
  };
  const annotations = sources(id).map((url, index) => ({
    type: "url_citation",
    url,
    title: String(index + 1),
    start_index: 0,
    end_index: Math.min(4, text.length),
  }));
  const message = {
    type: "message",
    id: `msg_${id}`,
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, logprobs: null, annotations: searched ? annotations : [] }],
  };
  return [
    { type: "reasoning", id: `rs_${id}`, status: "completed", summary: [] },
    ...(searched ? [search] : []),
    // Cut off during reasoning, it has written nothing.
    ...(text === "" ? [] : [message]),
  ];
}

const NARRATIVES: Record<Outlook, readonly string[]> = {
  bullish: [
    "Traders post breakout charts and talk of rotation into {name}",
    "Accounts celebrate new highs in {name}",
  ],
  bearish: [
    "Posts complain about selling pressure on {name}",
    "Holders of {name} debate whether to cut losses",
  ],
  neutral: [
    "Mentions of {name} are mostly memes and waiting",
    "The talk about {name} is split and low in conviction",
  ],
};

const HALF_HOUR = 30 * 60_000;

/** The sentiment of people's posts: it follows prices, with exceptions now and then. */
function moods(prompt: string, seed: string, market: Market, at: number): unknown {
  const focus = focusToken(prompt);
  const chance = random(seed, "sentiment", Math.floor(at / HALF_HOUR), focus ?? "");
  const trending = chance.shuffled(market.trending(at)).map(({ symbol }) => symbol);
  const symbols = [...new Set([...(focus === null ? [] : [focus]), "BTC", "ETH", ...trending])];
  const coins = symbols.slice(0, chance.whole(5, 8)).map((symbol) => market.coin(symbol, at));
  const { outlook } = market.mood(at);
  const tone = { bullish: "optimistic", bearish: "anxious", neutral: "undecided" }[outlook];
  const loudest = coins[focus === null ? 2 : 0]?.symbol ?? "BTC";
  return {
    overall: `The mood on the network is ${tone}, with most of the attention on ${loudest} and the majors.`,
    tokens: coins.map((coin) => mood(coin, chance)),
  };
}

function mood(coin: Coin, chance: Random): unknown {
  const sentiment = chance.between(0, 1) < 0.15 ? "neutral" : outlookOf(coin.change24h);
  return {
    token: coin.symbol,
    sentiment,
    buzz: Math.min(10, chance.whole(2, 6) + Math.round(Math.abs(coin.change24h) / 2)),
    narrative: `${chance.pick(NARRATIVES[sentiment]).replace("{name}", () => coin.name)}.`,
  };
}
