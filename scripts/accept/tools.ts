import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import * as z from "zod";
import { require, same, type Row } from "./row";

/** The contract's rows on the stdio proxy: its tools, and that each reaches its endpoint. */

const NAMES = [
  "get_market_data",
  "get_token_data",
  "ask_noel",
  "get_latest_signal",
  "get_signal_history",
  "get_daily_recap",
  "get_whale_alerts",
  "run_research",
  "start_research",
  "stop_research",
  "get_research_status",
  "get_research_report",
  "connect_wallet",
  "swap_tokens",
  "send_token",
  "get_portfolio",
  "create_wallet",
  "get_wallet_balance",
  "set_telegram",
];

const message = z.object({ id: z.int(), result: z.unknown() });
const toolList = z.object({ tools: z.array(z.object({ name: z.string() })) });
const toolResult = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
});

type Proxy = { ask: (method: string, params: unknown) => Promise<unknown>; end: () => void };

/** @param file The built proxy. */
export function toolRows(file: string, serviceUrl: string, userId: string): Row[] {
  const using = async (use: (proxy: Proxy) => Promise<void>) => {
    const proxy = start(file, serviceUrl);
    try {
      const clientInfo = { name: "accept", version: "1" };
      await proxy.ask("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo });
      await use(proxy);
    } finally {
      proxy.end();
    }
  };
  const call = async ({ ask }: Proxy, name: string, input: Readonly<Record<string, unknown>>) => {
    const { isError, content } = toolResult.parse(await ask("tools/call", { name, arguments: input }));
    return { isError: isError === true, text: content.map(({ text }) => text ?? "").join("\n") };
  };

  return [
    {
      says: "The stdio proxy offers the 19 tools",
      look: () =>
        using(async ({ ask }) => {
          const names = toolList.parse(await ask("tools/list", {})).tools.map(({ name }) => name);
          same("the tools", [...names].sort().join(), [...NAMES].sort().join());
        }),
    },
    {
      says: "Its tools work for the same userId as over HTTP",
      look: () =>
        using(async (proxy) => {
          const calls: readonly [string, Record<string, unknown>][] = [
            ["get_market_data", {}],
            ["get_token_data", { question: "ETH" }],
            ["ask_noel", { question: "What moves the market?", userId }],
            ["get_latest_signal", {}],
            ["get_signal_history", {}],
            ["get_daily_recap", {}],
            ["get_whale_alerts", {}],
            ["run_research", {}],
            ["start_research", { userId, token: "BTC" }],
            ["get_research_status", { userId }],
            ["stop_research", { userId }],
            ["connect_wallet", { userId }],
            ["create_wallet", { userId }],
            ["get_wallet_balance", { userId }],
            ["get_portfolio", { userId }],
            ["set_telegram", { userId, messengerChatId: "424242" }],
          ];
          for (const [name, input] of calls) {
            const { isError, text } = await call(proxy, name, input);
            require(!isError, `${name}: ${text}`);
          }
          await call(proxy, "set_telegram", { userId, messengerChatId: "" });
        }),
    },
    {
      says: "swap_tokens and send_token say what is wrong with an order",
      look: () =>
        using(async (proxy) => {
          const swap = await call(proxy, "swap_tokens", {
            userId,
            fromToken: "ETH",
            toToken: "USDC",
            amount: "0.5",
          });
          require(swap.isError && swap.text.includes("amount"), `swap_tokens: ${swap.text}`);
          const to = "not-an-address";
          const send = await call(proxy, "send_token", { userId, toAddress: to, token: "ETH", amount: "1" });
          require(send.isError && send.text.includes("toAddress"), `send_token: ${send.text}`);
        }),
    },
  ];
}

function start(file: string, serviceUrl: string): Proxy {
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, NOELCLAW_CONVEX_URL: serviceUrl },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = new Map<number, (result: unknown) => void>();
  createInterface({ input: child.stdout }).on("line", (line) => {
    const { id, result } = message.parse(JSON.parse(line));
    waiting.get(id)?.(result);
    waiting.delete(id);
  });
  const ended = new Promise<never>((_, reject) => {
    child.once("exit", () => reject(new Error("The proxy has ended")));
  });
  ended.catch(() => {});
  let last = 0;
  return {
    ask: (method, params) => {
      const answered = new Promise<unknown>((resolve) => {
        const id = ++last;
        waiting.set(id, resolve);
        child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
      });
      return Promise.race([answered, ended]);
    },
    end: () => child.stdin.end(),
  };
}
