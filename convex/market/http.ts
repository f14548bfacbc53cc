import * as z from "zod";
import { internal } from "../_generated/api";
import { endpoint, type MountedEndpoint } from "../lib/http";
import { optionalToken } from "../lib/input";
import { asksForKey, SECURITY_MESSAGE } from "../lib/keyRequests";
import { readThrough } from "../lib/refreshes";
import { iso, SECOND } from "../lib/time";

/** How long a snapshot or a token answer counts as live. */
const FRESH_MS = 60 * SECOND;

const keyPrice = z.object({ usd: z.number(), usd_24h_change: z.number() });

const tokenFigures = z.object({
  symbol: z.string(),
  name: z.string(),
  price: z.number(),
  change24h: z.number(),
  marketCap: z.number().nullable(),
  volume24h: z.number().nullable(),
});

const marketSnapshot = z.object({
  fetchedAt: z.iso.datetime(),
  keyPrices: z.object({ bitcoin: keyPrice, ethereum: keyPrice, solana: keyPrice }),
  trending: z.array(
    z.object({ name: z.string(), symbol: z.string(), rank: z.number(), change24h: z.number() }),
  ),
  top20: z.array(
    z.object({
      rank: z.number(),
      name: z.string(),
      symbol: z.string(),
      price: z.number(),
      change24h: z.number(),
      marketCap: z.number(),
    }),
  ),
  focus: tokenFigures.nullable().optional(),
  sources: z
    .array(
      z.object({
        name: z.string(),
        asOf: z.iso.datetime(),
        agreementBps: z
          .number()
          .int()
          .nonnegative()
          .describe(
            "The largest distance of the model's own price from this source's, over the coins it knows.",
          ),
      }),
    )
    .describe("The live price sources that the figures were held against; empty when none was within reach."),
});

const market: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/market",
  summary:
    "Live market snapshot: key prices, trending coins, top 20; with `token`, that token's figures too.",
  needs: ["LLM_GATEWAY_API_KEY"],
  input: z.object({ token: optionalToken }),
  returns: marketSnapshot,
  handler: async (ctx, { token }, { caller }) => {
    const focus = token ?? "";
    const snapshot = await readThrough(ctx, {
      freshMs: FRESH_MS,
      read: () => ctx.runQuery(internal.market.snapshots.current, { focus }),
      begin: () => ctx.runMutation(internal.market.snapshots.begin, { focus, caller }),
    });
    return { fetchedAt: iso(snapshot.fetchedAt), ...snapshot.figures, sources: snapshot.sources };
  },
});

const tokenQuestion: MountedEndpoint = endpoint({
  methods: ["GET", "POST"],
  path: "/mcp/token",
  summary: "Figures of one token and an answer to a question about it.",
  needs: ["LLM_GATEWAY_API_KEY"],
  input: z.object({
    question: z
      .string("must be a string")
      .trim()
      .min(1, "is required")
      .max(1_000, "must be at most 1000 characters")
      .describe("Token name or ticker, or a question about it."),
  }),
  returns: z.object({
    question: z.string(),
    token: tokenFigures.nullable(),
    answer: z.string(),
    model: z.string(),
    fetchedAt: z.iso.datetime(),
  }),
  handler: async (ctx, { question }, { caller }) => {
    if (asksForKey(question)) {
      return { question, token: null, answer: SECURITY_MESSAGE, model: "none", fetchedAt: iso(Date.now()) };
    }
    const { token, answer, model, fetchedAt } = await readThrough(ctx, {
      freshMs: FRESH_MS,
      read: () => ctx.runQuery(internal.market.tokens.current, { question }),
      begin: () => ctx.runMutation(internal.market.tokens.begin, { question, caller }),
    });
    return { question, token, answer, model, fetchedAt: iso(fetchedAt) };
  },
});

export const marketEndpoints: MountedEndpoint[] = [market, tokenQuestion];
