import * as z from "zod";
import type { ActionCtx } from "../../_generated/server";
import type { BillingSubject } from "../../platform/limits/callers";
import { noteCost } from "../../platform/limits/budget";
import { deadlines } from "../../platform/outside/deadlines";
import { getRequired, getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { DAY, toDay } from "../../lib/time";
import {
  askBilledProvider,
  askProvider,
  parseBody,
  isSuccess,
  buildJsonPost,
  unusableAnswerError,
  type Exchange,
} from "../call";
import { getTokensCost } from "./client";
import { cleanText, createFieldReader, extractText, getList, parseCount, parseUsage } from "./cleaning";

/** The social sentiment model: the Responses API with its live search tool (docs.x.ai/developers/tools/x-search). */
const UPSTREAM = "The sentiment model";

/** Reasoning counts as output and comes first: with a lower limit the model would end before it has answered. */
const MAX_TOKENS = 12_000;
/** The price of a post that its search fetches: 5 USD per thousand, in millionths. */
const POST_MICROS = 5_000;
/** The estimate for an answer that reports no usage: five posts, and 4,000 tokens each way. */
const USUAL_MICROS = 40_000;
/** Addresses of posts that are kept with a reading. */
const MAX_CITATIONS = 20;

const responseShape = z.object({
  status: z.string().nullish(),
  incomplete_details: z.object({ reason: z.string().nullish() }).nullish(),
  output: z.array(z.object({ type: z.string(), content: z.unknown().optional() })),
  citations: z.unknown().optional(),
});

export type SentimentAnswer = {
  text: string;
  /** No search was made and no source cited: the answer comes from training data and does not describe the present. */
  degraded: boolean;
  /** The addresses of the posts it cites, each once. */
  citations: string[];
};

/**
 * Asks what people on the social network have said over the last day. One attempt: the call is slow and billed by
 * search.
 * @param to.asksAgain Asks although the account was empty within the hour.
 * @param now Epoch ms; the search covers the day before.
 * @throws AppError `upstream` for every failure of the model.
 */
export async function askSentiment(
  ctx: ActionCtx,
  { billTo, asksAgain = false }: { billTo: BillingSubject; asksAgain?: boolean },
  system: string,
  question: string,
  now: number,
): Promise<SentimentAnswer> {
  const key = getRequired("SENTIMENT_API_KEY");
  const body = {
    model: getSetting("SENTIMENT_MODEL"),
    store: false,
    max_output_tokens: MAX_TOKENS,
    reasoning: { effort: "low" },
    // The addresses come beside the answer; marks in it would be read as figures.
    include: ["no_inline_citations"],
    input: [
      { role: "system", content: system },
      { role: "user", content: question },
    ],
    tools: [{ type: "x_search", from_date: toDay(now - DAY), to_date: toDay(now) }],
  };
  const url = `${getSetting("SENTIMENT_ENDPOINT")}/responses`;
  const headers = { Authorization: `Bearer ${key}` };
  const result = await askBilledProvider(ctx, { provider: "sentiment", key, asksAgain }, () =>
    askProvider("sentiment", url, buildJsonPost(body, headers), deadlines.sentiment),
  );
  noteCost(billTo, "sentiment", getCallCost(result));

  const answer = parseBody(UPSTREAM, result, responseShape);
  const { status, output, incomplete_details: incomplete } = answer;
  if (status === "incomplete") {
    const cut = incomplete?.reason === "max_output_tokens";
    const why = cut ? "was cut off at its limit" : "was not completed";
    throw new AppError("upstream", `${UPSTREAM} sent an answer that ${why}`);
  }
  const messages = output.filter(({ type }) => type === "message");
  const text = cleanText(messages.map(({ content }) => extractText(content)).join(""));
  if (text === "") throw unusableAnswerError(UPSTREAM);
  const searched = output.some(({ type }) => type === "x_search_call" || type === "custom_tool_call");
  const parts = messages.flatMap((message) => getList(message, "content"));
  const citations = listUrls([
    ...getList(answer, "citations"),
    ...parts.flatMap((part) => getList(part, "annotations")),
  ]);
  return { text, degraded: !searched && citations.length === 0, citations };
}

/** The cost of a call. A refusal costs nothing; after an unreadable or late answer the cost is unknown. */
function getCallCost(result: Exchange): number {
  if (result.kind !== "answer") return USUAL_MICROS;
  if (!isSuccess(result)) return 0;
  const usage = createFieldReader(result.body)("usage");
  const tokens = parseUsage(usage);
  if (tokens === null) return USUAL_MICROS;
  const posts = parseCount(createFieldReader(usage)("num_sources_used")) ?? 0;
  return getTokensCost(getSetting("SENTIMENT_MODEL"), tokens) + posts * POST_MICROS;
}

/** Addresses, as texts or in the `url` of an object. */
function listUrls(given: readonly unknown[]): string[] {
  const urls = given.flatMap((one) => z.url().safeParse(createFieldReader(one)("url") ?? one).data ?? []);
  return [...new Set(urls)].slice(0, MAX_CITATIONS);
}
