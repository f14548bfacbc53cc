import { ConvexHttpClient } from "convex/browser";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import type { Stack } from "../../scripts/stack/stack";

/** Clients that speak HTTP themselves: earlier ones of the tool protocol, the web application's, and a bare fetch. */

/** @returns What the client did. @throws Error when anything is not as it should be. */
type Try = (stack: Stack) => Promise<string>;

type Question = readonly ["GET" | "POST", path: string, body: object | undefined, shape: z.ZodType];

const figure = z.number();
const anyText = z.string().min(1);
const success = z.object({ success: z.literal(true) });
const market = z.object({
  fetchedAt: anyText,
  keyPrices: z.record(z.string(), z.object({ usd: figure, usd_24h_change: figure })),
  trending: z.array(z.object({ name: anyText, symbol: anyText, rank: figure, change24h: figure.nullable() })),
  top20: z.array(z.object({ rank: figure, name: anyText, symbol: anyText, price: figure })),
});
const answer = z.object({ answer: anyText, agentId: anyText, model: anyText });
const id = "matrix-7f3k2q9xw5";
const record = z.object({ total: figure, wins: figure, losses: figure, winrate: figure, avgPnl: figure });

/**
 * What earlier published clients ask, in their words: a content type on every request, a base address that may end with a
 * slash, older paths, names of fields and agents. Each takes the fields that its shape has.
 */
const EARLIER: readonly Question[] = [
  ["GET", "/mcp/market", undefined, market],
  ["POST", "/mcp/chat", { question: "How is ETH?", agentId: "coingecko-default", messages: [] }, answer],
  [
    "POST",
    "/mcp/chat",
    { question: "How is ETH?", agentId: "noel-default", userId: "mcp-anonymous" },
    answer,
  ],
  ["GET", "/signals/latest", undefined, z.object({ BTC: z.unknown(), ETH: z.unknown() })],
  ["GET", "/signals/history?token=BTC&days=7", undefined, z.object({ signals: z.array(z.unknown()) })],
  ["GET", "/signals/winrate?token=BTC&days=7", undefined, record],
  ["GET", "/whales/latest?hours=24", undefined, z.object({ count: figure, alerts: z.array(z.unknown()) })],
  [
    "GET",
    "/recap/today",
    undefined,
    z.object({ totalWinrate: figure, btcBestPnl: figure, aiReview: anyText }),
  ],
  ["POST", "/mcp/research", { token: "SOL" }, z.object({ result: z.object({ fullAnalysis: anyText }) })],
  ["POST", "/mcp/research/start", { userId: id, telegramChatId: "11" }, success.extend({ jobId: anyText })],
  [
    "GET",
    `/mcp/research/status?userId=${id}`,
    undefined,
    z.object({ activeJob: z.object({ jobId: anyText }) }),
  ],
  ["POST", "/mcp/research/stop", { userId: id }, success.extend({ stopped: z.literal(1) })],
  ["POST", "/user/telegram", { userId: id, telegramChatId: "11" }, success],
  ["POST", "/user/telegram/notify", { userId: id, message: "Hello" }, z.object({ sent: z.boolean() })],
  ["POST", "/mcp/wallet/create", { userId: id }, z.object({ address: anyText, existing: z.boolean() })],
  ["GET", `/mcp/wallet/balance?userId=${id}`, undefined, z.object({ eth: anyText, usdc: anyText })],
  [
    "GET",
    `/mcp/defi/portfolio?userId=${id}`,
    undefined,
    z.object({ address: anyText, balances: z.array(z.unknown()) }),
  ],
];

async function questioned(base: string, questions: readonly Question[]): Promise<string> {
  for (const [method, path, body, shape] of questions) {
    const response = await fetch(`${base}${path}`, {
      method,
      headers: { "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} answered ${response.status} ${text}`);
    shape.parse(JSON.parse(text));
  }
  return `${questions.length} requests`;
}

export const webClients: Record<string, Try> = {
  "earlier clients' protocol": ({ siteUrl }) => questioned(siteUrl, EARLIER),
  "the same, with a slash behind the address": ({ siteUrl }) => questioned(`${siteUrl}/`, EARLIER),
  fetch: ({ siteUrl }) =>
    questioned(siteUrl, [
      ["GET", "/health", undefined, z.object({ status: anyText })],
      ["GET", "/openapi.json", undefined, z.object({ openapi: z.literal("3.1.1") })],
      ["GET", "/mcp/market", undefined, market],
      ["POST", "/mcp/signals/history", { limit: 1 }, z.object({ count: figure })],
    ]),
  "ConvexHttpClient of convex 1.48.0": async (stack) => {
    const client = new ConvexHttpClient(stack.apiUrl);
    client.setAuth(await stack.issuer.issue("alice"));
    await client.mutation(api.accounts.profile.signIn, {});
    const { balance } = await client.query(api.credits.app.balance, {});
    if (balance !== 0) throw new Error(`A new user has ${balance} credits`);
    return "signed in with a token, 2 functions";
  },
};
