import * as z from "zod";
import { type Purse, sentimentCost, usageOf, usualSentiment } from "../../lib/limits/costs";
import { deadlines } from "../../lib/outside/deadlines";
import { required, setting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { DAY, dayOf } from "../../lib/time";
import { askProvider, bodyOf, isSuccess, postJson, unusableFailure, type Exchange } from "../call";

/** The social sentiment model: the Responses API with its live search tool (docs.x.ai/developers/tools/x-search). */
const UPSTREAM = "The sentiment model";

const partShape = z.object({
  type: z.string(),
  text: z.string().optional(),
  annotations: z.array(z.unknown()).nullish(),
});

/** Reasoning counts as output and comes first: with a lower limit the model would end before it has answered. */
const MAX_TOKENS = 12_000;
/** Addresses of posts that are kept with a reading. */
const MAX_CITATIONS = 20;

const citation = z.union([z.url(), z.object({ url: z.url() }).transform(({ url }) => url)]);

const count = z.number().int().nonnegative();

const responseShape = z.object({
  model: z.string().min(1),
  status: z.string().nullish(),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish(),
  output: z.array(z.object({ type: z.string(), content: z.array(partShape).nullish() })),
  citations: z.array(z.unknown()).nullish(),
  usage: z
    .object({
      total_tokens: count,
      input_tokens: count.nullish(),
      output_tokens: count.nullish(),
      num_sources_used: count.nullish(),
    })
    .nullish(),
});

export type SentimentAnswer = {
  text: string;
  model: string;
  tokensUsed: number;
  /** No search was made and no source cited: the answer comes from training data and does not describe the present. */
  degraded: boolean;
  /** The addresses of the posts it cites, each once. */
  citations: string[];
};

/**
 * Asks what people on the social network have said over the last day. One attempt: the call is slow and billed by
 * search.
 * @param now Epoch ms; the search covers the day before.
 * @throws AppError `upstream` for every failure of the model.
 */
export async function askSentiment(
  purse: Purse,
  system: string,
  question: string,
  now: number,
): Promise<SentimentAnswer> {
  const key = required("SENTIMENT_API_KEY");
  const body = {
    model: setting("SENTIMENT_MODEL"),
    store: false,
    max_output_tokens: MAX_TOKENS,
    reasoning: { effort: "low" },
    input: [
      { role: "system", content: system },
      { role: "user", content: question },
    ],
    tools: [{ type: "x_search", from_date: dayOf(now - DAY), to_date: dayOf(now) }],
  };
  const url = `${setting("SENTIMENT_ENDPOINT")}/responses`;
  const headers = { Authorization: `Bearer ${key}` };
  const result = await askProvider("sentiment", url, postJson(body, headers), deadlines.sentiment);
  purse.pay("sentiment", costOf(result));

  const answer = bodyOf(UPSTREAM, result, responseShape);
  const { model, status, output, citations, usage } = answer;
  if (status === "incomplete") {
    const cut = answer.incomplete_details?.reason === "max_output_tokens";
    const why = cut ? "was cut off at its limit" : "was not completed";
    throw new AppError("upstream", `${UPSTREAM} sent an answer that ${why}`);
  }
  const parts = output.flatMap((item) => (item.type === "message" ? (item.content ?? []) : []));
  const text = parts.map((part) => (part.type === "output_text" ? (part.text ?? "") : "")).join("");
  if (text.trim() === "") throw unusableFailure(UPSTREAM);
  const searched = output.some((item) => item.type === "x_search_call" || item.type === "custom_tool_call");
  const cited = cites([...(citations ?? []), ...parts.flatMap(({ annotations }) => annotations ?? [])]);
  const degraded = !searched && cited.length === 0;
  return { text, model, tokensUsed: usage?.total_tokens ?? 0, degraded, citations: cited };
}

/** The cost of a call. A refusal costs nothing; after an unreadable or late answer the cost is unknown. */
function costOf(result: Exchange): number {
  if (result.kind !== "answer") return usualSentiment();
  if (!isSuccess(result)) return 0;
  const usage = responseShape.safeParse(result.body).data?.usage;
  if (usage == null) return usualSentiment();
  const { total_tokens, input_tokens, output_tokens, num_sources_used } = usage;
  return sentimentCost(usageOf(total_tokens, input_tokens, output_tokens), num_sources_used ?? 0);
}

function cites(given: readonly unknown[]): string[] {
  const urls = given.flatMap((one) => {
    const parsed = citation.safeParse(one);
    return parsed.success ? [parsed.data] : [];
  });
  return [...new Set(urls)].slice(0, MAX_CITATIONS);
}
