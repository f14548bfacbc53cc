import * as z from "zod";

/**
 * Ten stored requests of users, five chats and five reports, and what each cost at the gateway when every fact of a prompt
 * was a line of its own with source and date, and every report asked for the gateway's list.
 */
type StoredRequest = {
  name: string;
  path: "/mcp/chat" | "/mcp/research";
  body: {
    question?: string;
    agentId?: string;
    messages?: { role: string; content: string }[];
    token?: string;
  };
  /** That cost, by `measureCost`: in millionths of a USD, more than ten minutes after any other report. */
  before: number;
};

const EARLIER = [
  { role: "user", content: "Should I hold ETH this week?" },
  {
    role: "assistant",
    content:
      "I cannot give advice; Ethereum trades at $3,410.20 [1], little changed over the day. Watch the funding.",
  },
  { role: "user", content: "And what of Solana?" },
  { role: "assistant", content: "Solana leads the majors with +2.31 % [1] over 24 hours." },
];

const chat = (name: string, body: StoredRequest["body"], before: number): StoredRequest => ({
  name,
  path: "/mcp/chat",
  body,
  before,
});
const report = (token: string, before: number): StoredRequest => ({
  name: `report on ${token === "" ? "the market" : token}`,
  path: "/mcp/research",
  body: token === "" ? {} : { token },
  before,
});

export const STORED: readonly StoredRequest[] = [
  chat("the market", { question: "How is the market?" }, 2557),
  chat("one coin", { question: "What moved Bitcoin today?" }, 2650),
  chat("two coins", { question: "Compare ETH and SOL", agentId: "marketdata-default" }, 2749),
  chat("news", { question: "What is the news of the day?", agentId: "news-default" }, 2594),
  chat("a conversation", { question: "Which one has the higher funding?", messages: EARLIER }, 2615),
  report("", 20_046),
  report("BTC", 19_914),
  report("ETH", 20_016),
  report("SOL", 19_778),
  report("PEPE", 20_148),
];

/** Tokens of the answers, as models write them: of a chat in about 150 words, of others by the shape of the answer. */
const ANSWER_TOKENS: Readonly<Record<string, number>> = {
  chat: 200,
  research_result: 1_150,
  onchain_signals: 330,
  market_snapshot: 1_400,
};

const requestShape = z.object({
  messages: z.array(z.object({ content: z.string() })),
  response_format: z.object({ json_schema: z.object({ name: z.string() }) }).optional(),
});

type Cost = { prompt: number; answer: number; micros: number };

/** What a request to the gateway costs, in tokens, and in millionths of a USD at the default model's prices. */
export function measureCost(request: unknown): Cost {
  const { messages, response_format: format } = requestShape.parse(request);
  const text = [
    ...messages.map(({ content }) => content),
    format === undefined ? "" : JSON.stringify(format),
  ];
  const prompt = text.reduce((sum, one) => sum + countTokens(one), 0);
  const answer = ANSWER_TOKENS[format?.json_schema.name ?? "chat"] ?? 0;
  return { prompt, answer, micros: prompt + 5 * answer };
}

/**
 * The number of tokens, within a twentieth of a usual tokenizer's: words in pieces, three digits, marks of JSON in a row,
 * each other sign.
 */
function countTokens(text: string): number {
  return text.match(/ ?\p{L}{1,8}|\d{1,3}|["{}:,[\]]+|[^\s\p{L}\d]|\n/gu)?.length ?? 0;
}
