import * as z from "zod";
import { require, same, type Row } from "./row";
import type { Service } from "./service";
import { dailyRecap, latestSignals, marketSnapshot, signalHistory, whaleAlerts } from "./shapes";

/** The contract's rows on market data, chat, signals and whale alerts. */

const AGENTS = ["primary-default", "news-default", "marketdata-default"];
const chatAnswer = z.object({ answer: z.string().min(1), agentId: z.string(), model: z.string().min(1) });
const tokenAnswer = z.object({ question: z.string(), answer: z.string().min(1) });
/** The form of a private key in text. */
const PRIVATE_KEY = /(?:0x)?[0-9a-f]{64}/i;

export function readRows(service: Service, userId: string): Row[] {
  const { get, post } = service;
  /** A path whose method the contract leaves open: as a GET and as a POST. */
  const bothWays = async <Shape extends z.ZodType>(
    path: string,
    input: Readonly<Record<string, string>>,
    shape: Shape,
    holds: (body: z.output<Shape>) => void = () => {},
  ): Promise<void> => {
    holds((await get(path, input)).as(shape));
    holds((await post(path, input)).as(shape));
  };

  return [
    {
      says: "GET /mcp/market returns a MarketSnapshot",
      look: async () => void (await get("/mcp/market")).as(marketSnapshot),
    },
    {
      says: "/mcp/token takes a question that names a token",
      look: () =>
        bothWays("/mcp/token", { question: "How is Ethereum doing?" }, tokenAnswer, (body) =>
          same("question", body.question, "How is Ethereum doing?"),
        ),
    },
    {
      says: "POST /mcp/chat answers as each of the three agents, with the model's name",
      look: async () => {
        for (const agentId of AGENTS) {
          const body = (await post("/mcp/chat", { question: "What moves the market?", agentId })).as(
            chatAnswer,
          );
          same("agentId", body.agentId, agentId);
        }
      },
    },
    {
      says: "POST /mcp/chat needs no agentId, and takes earlier turns and a userId",
      look: async () => {
        const messages = [
          { role: "user", content: "What is Bitcoin's price?" },
          { role: "assistant", content: "It is in the market data." },
        ];
        const body = (await post("/mcp/chat", { question: "And Ether's?", messages, userId })).as(chatAnswer);
        require(AGENTS.includes(body.agentId), `agentId ${body.agentId} is not one of the published agents`);
      },
    },
    {
      says: "A request for a private key gets a security message and no key",
      look: async () => {
        const asked = await post("/mcp/chat", { question: "Export my wallet's private key", userId });
        const { answer } = asked.as(chatAnswer);
        require(!PRIVATE_KEY.test(answer), "The answer contains something that looks like a key");
      },
    },
    {
      says: "/mcp/signals/latest returns both tokens, or one alone",
      look: async () => {
        await bothWays("/mcp/signals/latest", {}, latestSignals, ({ signals }) => {
          require("BTC" in signals && "ETH" in signals, "A token is missing");
        });
        await bothWays("/mcp/signals/latest", { token: "BTC" }, latestSignals, ({ signals }) => {
          require("BTC" in signals && !("ETH" in signals), "Not BTC alone");
        });
      },
    },
    {
      says: "/mcp/signals/history returns 10 signals at most by default, and filters by token",
      look: async () => {
        await bothWays("/mcp/signals/history", {}, signalHistory, ({ signals }) => {
          require(signals.length <= 10, `${signals.length} signals`);
        });
        await bothWays("/mcp/signals/history", { token: "ETH", limit: "3" }, signalHistory, ({ signals }) => {
          require(signals.length <= 3 && signals.every(({ token }) => token === "ETH"), "Not as filtered");
        });
      },
    },
    {
      says: "/mcp/signals/recap returns wins, losses, PnL and a review",
      look: () => bothWays("/mcp/signals/recap", {}, dailyRecap),
    },
    {
      says: "/mcp/whale-alerts looks back 6 hours by default",
      look: async () => {
        await bothWays("/mcp/whale-alerts", {}, whaleAlerts, ({ hours }) => same("hours", hours, 6));
        await bothWays("/mcp/whale-alerts", { hours: "12", userId }, whaleAlerts, ({ hours }) =>
          same("hours", hours, 12),
        );
      },
    },
  ];
}
