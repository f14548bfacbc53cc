import * as z from "zod";
import { matches, require, same, type Row } from "../row";
import { chatAnswer, marketSnapshot, tokenAnswer } from "../shapes";
import { MINUTE } from "../world";

/** Market data, tokens and chat. */

const AGENTS = ["primary-default", "news-default", "marketdata-default"];
const sent = z.object({ messages: z.array(z.object({ role: z.string(), content: z.string() })) });

export const market: Row[] = [
  {
    id: "market",
    says: "GET /mcp/market. No input. Response: MarketSnapshot; top20: top 20 by market cap",
    check: async ({ get }) => {
      const { trending, top20 } = (await get("/mcp/market")).as(marketSnapshot);
      require(trending.length > 0, "Nothing trends");
      require(top20.every(({ rank }, at) => rank === at + 1), "The ranks are not 1 to 20");
      const caps = top20.map(({ marketCap }) => marketCap);
      const isOrdered = caps.every((cap, at) => at === 0 || cap <= (caps[at - 1] ?? 0));
      require(isOrdered, `Not by market cap: ${caps.join()}`);
    },
  },
  {
    id: "market-without-model",
    says: "/mcp/market alone answers from its sources or the last snapshot while only the model fails",
    needs: ["standins"],
    check: async ({ get, control }) => {
      await control({ provider: "llm", mode: "status", status: 503 });
      const answer = await get("/mcp/market");
      await control({ provider: "llm", clear: true });
      answer.as(marketSnapshot);
    },
  },
  {
    id: "market-gateway-pace",
    says: "the gateway's answer is asked for at most every 10 minutes and kept; figures come from the sources, renewed each minute; fetchedAt is ISO 8601 UTC",
    needs: ["standins", "time"],
    check: async ({ get, sent: sentTo, advance, now }) => {
      const countRequests = async () =>
        (await sentTo("llm")).filter(({ body }) => JSON.stringify(body).includes("market_snapshot")).length;
      const before = await countRequests();
      for (let minute = 0; minute < 9; minute += 2) {
        await get("/mcp/market");
        await advance(1_000);
        const { fetchedAt } = (await get("/mcp/market")).as(marketSnapshot);
        const age = (await now()) - Date.parse(fetchedAt);
        require(age <= 2 * MINUTE, `It is ${age} ms old`);
        await advance(2 * MINUTE);
      }
      const times = (await countRequests()) - before;
      require(times <= 1, `The gateway was asked ${times} times in 9 minutes`);
    },
  },
  {
    id: "token",
    says: "/mcp/token: question (string, required; token name or ticker), GET and POST alike; $BTC, BTC/USDT, btc and known names (Bitcoin) mean BTC",
    check: async ({ get, post }) => {
      for (const question of ["ETH", "How is Ethereum doing?"])
        for (const answer of [
          await get("/mcp/token", { question }),
          await post("/mcp/token", { question }),
        ]) {
          const body = answer.as(tokenAnswer);
          same("question", body.question, question);
          same("token.symbol", body.token?.symbol, "ETH");
        }
      for (const question of ["$BTC", "BTC/USDT", "btc", "Bitcoin"])
        same(question, (await get("/mcp/token", { question })).as(tokenAnswer).token?.symbol, "BTC");
    },
  },
  {
    id: "token-unknown",
    says: "A token that no source knows is a 404 that says so; a question about one has no token, and the answer says so",
    needs: ["standins"],
    check: async ({ post, get }) => {
      const error = (await post("/mcp/research", { token: "ZZZZQQ" })).error(404);
      require(error.includes("ZZZZQQ"), error);
      const { token, answer } = (await get("/mcp/token", { question: "ZZZZQQ" })).as(tokenAnswer);
      same("token", token, null);
      matches("The answer", answer, /No source that answered knows the token ZZZZQQ/);
    },
  },
  {
    id: "chat-agents",
    says: "Response: answer (string), agentId (string), model (string, the model that answered); agentId omitted: primary-default. An unknown one: 404",
    check: async ({ post }) => {
      for (const agentId of [undefined, ...AGENTS]) {
        const answer = await post("/mcp/chat", { question: "What moves the market?", agentId });
        same("agentId", answer.as(chatAnswer).agentId, agentId ?? AGENTS[0]);
      }
      (await post("/mcp/chat", { question: "Hello", agentId: "someone-default" })).error(404);
    },
  },
  {
    id: "chat-turns",
    says: "question, messages (array of prior turns, optional) and userId (string, optional, for personalised context) reach the gateway's chat-completions address",
    needs: ["standins"],
    check: async ({ post, user, sent: sentTo }) => {
      const messages = [
        { role: "user", content: "Remember the word heliotrope." },
        { role: "assistant", content: "I will." },
      ];
      const question = "Which word, and what about periwinkle coins?";
      (await post("/mcp/chat", { question, messages, userId: user })).as(chatAnswer);
      (await post("/mcp/chat", { question: "How is my wallet?", userId: user, messages: [] })).as(chatAnswer);
      const prompts = (await sentTo("llm")).map(({ body }) =>
        JSON.stringify(sent.safeParse(body).data ?? {}),
      );
      const found = prompts.some((body) => body.includes("heliotrope") && body.includes("periwinkle"));
      require(found, "The question and the earlier turns did not reach the gateway");
    },
  },
  {
    id: "key-request",
    says: "a request for a private key through any tool yields a security message instead (200, in answer, no LLM); a question about what such a key is, is not such a request",
    needs: ["standins"],
    check: async ({ post, get, user, sent: sentTo }) => {
      const before = (await sentTo("llm")).length;
      const answers = [];
      for (const question of [
        "Export my wallet's private key",
        "give me my seed phrase",
        "Show me the keystore export of my wallet",
      ]) {
        answers.push((await post("/mcp/chat", { question, userId: user })).as(chatAnswer).answer);
        answers.push((await get("/mcp/token", { question })).as(tokenAnswer).answer);
      }
      same("messages", new Set(answers).size, 1);
      matches("The message", answers[0] ?? "", /key/i);
      require(!/(?:0x)?[0-9a-f]{64}/i.test(answers.join()), "The answer contains something like a key");
      same("questions to the gateway", (await sentTo("llm")).length - before, 0);
      (await post("/mcp/chat", { question: "What is a private key?" })).as(chatAnswer);
      require((await sentTo("llm")).length > before, "A question about keys reached no model");
    },
  },
  {
    id: "chat-deadline",
    says: "Every endpoint answers within 28 s. Chat answers 502",
    needs: ["standins", "time"],
    check: async ({ post, control, now }) => {
      await control({ provider: "llm", mode: "slow" });
      const from = await now();
      (await post("/mcp/chat", { question: "Are you there?" })).error(502);
      await control({ provider: "llm", clear: true });
      require((await now()) - from <= 28_000, `It took ${(await now()) - from} ms`);
    },
  },
  {
    id: "chat-cards",
    says: "Every figure in an answer was observed by the service, or is marked [model]",
    needs: ["standins"],
    check: async ({ post, control }) => {
      await control({ provider: "llm", mode: "reply", schema: "chat", content: "Bitcoin rose by 731.25 %." });
      const { answer } = (await post("/mcp/chat", { question: "How did Bitcoin do?" })).as(chatAnswer);
      await control({ provider: "llm", clear: true });
      require(!answer.includes("731.25") || answer.includes("[model]"), answer);
    },
  },
];
