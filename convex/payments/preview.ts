import * as z from "zod";
import { internal } from "../_generated/api";
import { AppError } from "../lib/errors";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { EXAMPLE_TIME } from "../lib/http/described";
import { optionalToken } from "../lib/http/input";
import { parseInput } from "../lib/http/request";
import { withoutCitations } from "../lib/text/strings";
import { iso } from "../lib/time";
import { PAID_PATH, PRICE_SHOWN } from "./terms";
import { NOTHING_TO_SELL, paymentRequired, PAYMENT_REQUIRED } from "./challenge";

const price = { amount: PRICE_SHOWN, asset: "USDC", network: "base" } as const;
const ofToken = z.object({ token: optionalToken });

/** Shows what can be bought; it claims and starts nothing. */
export const terms: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: PAID_PATH,
  summary:
    "What a paid report costs and how it is paid; with `preview=1` a free preview of the newest report.",
  description:
    "Always 402 with the terms, whatever else is sent; only a POST checks proofs. With `preview=1`: the headline and date of the newest report on the token (the whole market without one) that is stored, and how much stands behind it. Nothing is written for a preview.",
  needs: ["PLATFORM_WALLET_ADDRESS", "LLM_GATEWAY_API_KEY"],
  errors: {
    payment_required: PAYMENT_REQUIRED,
    not_found: NOTHING_TO_SELL,
  },
  example: {
    input: { token: "BTC", preview: "1" },
    output: {
      preview: {
        token: "BTC",
        headline: "🟢 Bitcoin leads a broad advance",
        outlook: "bullish",
        generatedAt: EXAMPLE_TIME,
        facts: 24,
      },
      price,
    },
  },
  input: z.object({
    token: z.string().optional().describe("As in a POST; only used for a preview."),
    preview: z.string().optional().describe("1 for a preview; anything else asks for the terms."),
  }),
  returns: z.object({
    preview: z.object({
      token: z.string().describe("Empty for the whole market"),
      headline: z.string(),
      outlook: z.enum(["bullish", "bearish", "neutral"]),
      generatedAt: z.iso.datetime(),
      facts: z.int().describe("Facts that it cites"),
    }),
    price: z.object({ amount: z.literal(PRICE_SHOWN), asset: z.literal("USDC"), network: z.literal("base") }),
  }),
  handler: async (ctx, { token: written, preview }) => {
    if (preview !== "1" && preview !== "true") throw paymentRequired();
    const { token = "" } = parseInput(ofToken, { token: written });
    const [report, snapshot] = await Promise.all([
      ctx.runQuery(internal.research.reports.latest, { token }),
      ctx.runQuery(internal.research.results.current, { focus: token }),
    ]);
    const found = [
      ...(report === null ? [] : [{ at: report.generatedAt, result: report.result }]),
      ...(snapshot === null ? [] : [{ at: snapshot.fetchedAt, result: snapshot.result }]),
    ].toSorted((a, b) => b.at - a.at);
    const [newest] = found;
    if (newest === undefined) {
      const on = token === "" ? "the whole market" : token;
      const error = `There is no report on ${on} to preview yet. A paid report is written when it is bought; a token that no source knows cannot be bought`;
      throw new AppError("not_found", error);
    }
    const { shortSummary, marketOutlook: outlook, sources } = newest.result;
    const headline = withoutCitations(shortSummary);
    const generatedAt = iso(newest.at);
    return { preview: { token, headline, outlook, generatedAt, facts: sources.length }, price };
  },
});
