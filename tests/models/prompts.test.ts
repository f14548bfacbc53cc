import { expect, test as plainTest } from "vitest";
import * as z from "zod";
import { numberSources, toSource, toStatementSource } from "../../convex/figures/citations";
import { describeSources } from "../../convex/figures/evidence";
import { buildFacts } from "../../convex/figures/facts";
import { MINUTE } from "../../convex/lib/time";
import { START, test } from "../support/app";

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
/** The questions of a kind, and what they may cost together, in millionths of a USD at the default model's prices. */
const ASKED = [
  [
    "/mcp/chat",
    8_770,
    [
      { question: "How is the market?" },
      { question: "What moved Bitcoin today?" },
      { question: "Compare ETH and SOL", agentId: "marketdata-default" },
      { question: "What is the news of the day?", agentId: "news-default" },
      { question: "Which one has the higher funding?", messages: EARLIER },
    ],
  ],
  ["/mcp/research", 66_600, [{}, { token: "BTC" }, { token: "ETH" }, { token: "SOL" }, { token: "PEPE" }]],
] as const;

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

function measureCost(request: unknown): number {
  const { messages, response_format: format } = requestShape.parse(request);
  const text = [
    ...messages.map(({ content }) => content),
    format === undefined ? "" : JSON.stringify(format),
  ];
  const prompt = text.reduce((sum, one) => sum + countTokens(one), 0);
  return prompt + 5 * (ANSWER_TOKENS[format?.json_schema.name ?? "chat"] ?? 0);
}

/** Within a twentieth of a usual tokenizer's: words in pieces, three digits, marks of JSON in a row, each other sign. */
function countTokens(text: string): number {
  return text.match(/ ?\p{L}{1,8}|\d{1,3}|["{}:,[\]]+|[^\s\p{L}\d]|\n/gu)?.length ?? 0;
}

test.for(ASKED)("five of %s cost at most %i millionths of a USD", async ([path, most, bodies], { app }) => {
  for (const body of bodies) {
    // A list that another report has asked for serves for ten minutes.
    if (path === "/mcp/research") await app.pass(11 * MINUTE, { cronsRun: false });
    expect((await app.post(path, body)).status).toBe(200);
  }
  const cost = app.standins.sent("llm").reduce((sum, one) => sum + measureCost(one.body), 0);
  expect(cost).toBeLessThanOrEqual(most);
});

plainTest("a prompt lists each fact with its number, below its source and what it measures", () => {
  const by = (subject: string, source: string, ms = 0) => ({
    subject,
    source,
    observedAt: START - ms,
    url: "",
  });
  const sources = numberSources([
    ...buildFacts(by("BTC", "CoinGecko"), { price: 97_250.5, change24h: -1.42 }).map((one) => toSource(one)),
    toStatementSource({ says: "Models agree", name: "a model", observedAt: START - 10 * 60 * MINUTE }),
    ...buildFacts(by("ETH", "CoinGecko"), { price: 3_410.2, change24h: 2 }).map((one) => toSource(one)),
    ...buildFacts(by("market", "CoinGecko"), { marketCap: 3.2e12 }).map((one) => toSource(one)),
    ...buildFacts(by("ETH", "CoinGecko", 2 * MINUTE), { headline: "Ether up | f1 9" }).map((one) =>
      toSource(one),
    ),
  ]);
  expect(describeSources(sources, START)).toBe(
    [
      "# CoinGecko, 09:00Z",
      "subject | price | price change over 24 hours",
      "BTC | f1 $97,250.50 | f2 -1.42%",
      "ETH | f4 $3,410.20 | f5 +2.00%",
      "subject | market capitalisation",
      "Market | f6 $3.20T",
      "# a model, 2026-01-04T23:00Z",
      "f3 Models agree",
      "# CoinGecko, 08:58Z",
      "f7 ETH headline: “Ether up | f1 9”",
    ].join("\n"),
  );
});
