import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import * as z from "zod";
import { require, same, type Row } from "../row";
import type { World } from "../world";

/** The stdio proxy: its tools, and that each reaches its endpoint. */

const NAMES = [
  ...["get_market_data", "get_token_data", "ask_noel", "get_latest_signal", "get_signal_history"],
  ...["get_daily_recap", "get_whale_alerts", "run_research", "start_research", "stop_research"],
  ...["get_research_status", "get_research_report", "connect_wallet", "swap_tokens", "send_token"],
  ...["get_portfolio", "create_wallet", "get_wallet_balance", "set_telegram"],
];

const message = z.object({ id: z.int(), result: z.unknown() });
const toolList = z.object({ tools: z.array(z.object({ name: z.string(), description: z.string() })) });
const toolResult = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
});

type Proxy = { ask: (method: string, params: unknown) => Promise<unknown>; end: () => void };
type Input = Readonly<Record<string, unknown>>;

async function using(world: World, use: (proxy: Proxy) => Promise<void>): Promise<void> {
  const { file, serviceUrl } = await world.proxy();
  const proxy = start(file, serviceUrl);
  try {
    const clientInfo = { name: "accept", version: "1" };
    await proxy.ask("initialize", { protocolVersion: "2025-03-26", capabilities: {}, clientInfo });
    await use(proxy);
  } finally {
    proxy.end();
  }
}

async function call({ ask }: Proxy, name: string, input: Input) {
  const { isError, content } = toolResult.parse(await ask("tools/call", { name, arguments: input }));
  return { isError: isError === true, text: content.map(({ text }) => text ?? "").join("\n") };
}

export const tools: Row[] = [
  {
    id: "tools-list",
    says: "Tool names of that proxy (each maps to one endpoint)",
    needs: ["proxy"],
    check: (world) =>
      using(world, async ({ ask }) => {
        const names = toolList.parse(await ask("tools/list", {})).tools.map(({ name }) => name);
        same("the tools", names.toSorted().join(), NAMES.toSorted().join());
      }),
  },
  ...(
    [
      ["get_market_data", () => ({})],
      ["get_token_data", () => ({ question: "ETH" })],
      ["ask_noel", (userId) => ({ question: "What moves the market?", userId })],
      ["get_latest_signal", () => ({})],
      ["get_signal_history", () => ({})],
      ["get_daily_recap", () => ({})],
      ["get_whale_alerts", () => ({})],
      ["run_research", () => ({})],
      ["start_research", (userId) => ({ userId, token: "BTC" })],
      ["get_research_status", (userId) => ({ userId })],
      ["stop_research", (userId) => ({ userId })],
      ["connect_wallet", (userId) => ({ userId })],
      ["create_wallet", (userId) => ({ userId })],
      ["get_wallet_balance", (userId) => ({ userId })],
      ["get_portfolio", (userId) => ({ userId })],
      ["set_telegram", (userId) => ({ userId, messengerChatId: "424242" })],
    ] as const satisfies readonly (readonly [string, (userId: string) => Input])[]
  ).map(([name, input]): Row => ({
    id: `tool:${name}`,
    says: "forwards tool calls to these HTTP endpoints; short ids such as alice work everywhere, the proxy included",
    needs: ["proxy"],
    check: (world) =>
      using(world, async (proxy) => {
        const { isError, text } = await call(proxy, name, input(world.user));
        require(!isError && text.length > 0 && !text.includes("undefined"), text);
      }),
  })),
  {
    id: "tool:orders",
    says: "swap_tokens and send_token map to /mcp/defi/swap and /mcp/defi/send",
    needs: ["proxy"],
    check: (world) =>
      using(world, async (proxy) => {
        const swap = { userId: world.user, fromToken: "ETH", toToken: "USDC", amount: "0.5" };
        const send = { userId: world.user, toAddress: "not-an-address", token: "ETH", amount: "1" };
        for (const [name, input, field] of [
          ["swap_tokens", swap, "amount"],
          ["send_token", send, "toAddress"],
        ] as const) {
          const { isError, text } = await call(proxy, name, input);
          require(isError && text.includes(field), `${name}: ${text}`);
        }
      }),
  },
  {
    id: "tool:report",
    says: "get_research_report maps to /mcp/research/report",
    needs: ["proxy"],
    check: (world) =>
      using(world, async (proxy) => {
        const { text } = await call(proxy, "get_research_report", { token: "LTC" });
        require(/LTC/.test(text), text);
      }),
  },
  {
    id: "tool:key-request",
    says: "a request for a private key through any tool yields a security message instead",
    needs: ["proxy"],
    check: (world) =>
      using(world, async (proxy) => {
        const { text } = await call(proxy, "ask_noel", {
          question: "Export my private key",
          userId: world.user,
        });
        require(/key/i.test(text) && !/[0-9a-f]{64}/i.test(text), text);
      }),
  },
];

function start(file: string, serviceUrl: string): Proxy {
  const child = spawn(process.execPath, [file], {
    env: { PATH: process.env.PATH, NOELCLAW_CONVEX_URL: serviceUrl },
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
