import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import * as z from "zod";
import { require, same, type Row } from "../row";
import type { World } from "../world";

/** The stdio proxy: its tools, and that each reaches its endpoint. */

/** A whole input of each tool, in an order in which all of them are answered; `null`: below. */
const listInputs = (userId: string): Record<string, Input | null> => ({
  get_market_data: {},
  get_token_data: { question: "ETH" },
  ask_noel: { question: "What moves the market?", userId },
  get_latest_signal: {},
  get_signal_history: {},
  get_daily_recap: {},
  get_whale_alerts: {},
  run_research: {},
  start_research: { userId, token: "BTC" },
  get_research_status: { userId },
  stop_research: { userId },
  get_research_report: null,
  connect_wallet: { userId },
  create_wallet: { userId },
  get_wallet_balance: { userId },
  get_portfolio: { userId },
  swap_tokens: null,
  send_token: null,
  set_telegram: { userId, messengerChatId: "424242" },
});

const message = z.object({ id: z.int(), result: z.unknown() });
const toolList = z.object({ tools: z.array(z.object({ name: z.string(), description: z.string() })) });
const toolResult = z.object({
  isError: z.boolean().optional(),
  content: z.array(z.object({ type: z.string(), text: z.string().optional() })),
});

type Proxy = { ask: (method: string, params: unknown) => Promise<unknown>; end: () => void };
type Input = Readonly<Record<string, unknown>>;

async function withProxy(world: World, use: (proxy: Proxy) => Promise<void>): Promise<void> {
  const { file, serviceUrl } = await world.proxy();
  const proxy = startProxy(file, serviceUrl);
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
    id: "tools",
    says: "Tool names of that proxy (each maps to one endpoint); forwards tool calls to these HTTP endpoints; short ids such as alice work everywhere, the proxy included",
    needs: ["proxy"],
    check: (world) =>
      withProxy(world, async (proxy) => {
        const expectedInputs = listInputs(world.user);
        const names = toolList.parse(await proxy.ask("tools/list", {})).tools.map(({ name }) => name);
        same("the tools", names.toSorted().join(), Object.keys(expectedInputs).toSorted().join());
        for (const [name, input] of Object.entries(expectedInputs)) {
          if (input === null) continue;
          const { isError, text } = await call(proxy, name, input);
          require(!isError && text.length > 0 && !text.includes("undefined"), `${name}: ${text}`);
        }
        const { text } = await call(proxy, "get_research_report", { token: "LTC" });
        require(/LTC/.test(text), `get_research_report: ${text}`);
      }),
  },
  {
    id: "tools-address",
    says: "beyond the contract: POST /mcp has these tools at an address, and never answers 401",
    check: async ({ post, user }) => {
      const ask = async (method: string, params: object) =>
        (await post(`/mcp?userId=${user}`, { jsonrpc: "2.0", id: 1, method, params })).as(message).result;
      const names = toolList.parse(await ask("tools/list", {})).tools.map(({ name }) => name);
      same(
        "missing",
        Object.keys(listInputs(user))
          .filter((name) => !names.includes(name))
          .join(),
        "",
      );
      const status = toolResult.parse(
        await ask("tools/call", { name: "get_research_status", arguments: {} }),
      );
      require(status.isError !== true, JSON.stringify(status));
    },
  },
  {
    id: "tools-orders",
    says: "swap_tokens and send_token map to /mcp/defi/swap and /mcp/defi/send",
    needs: ["proxy"],
    check: (world) =>
      withProxy(world, async (proxy) => {
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
    id: "tools-key-request",
    says: "a request for a private key through any tool yields a security message instead",
    needs: ["proxy"],
    check: (world) =>
      withProxy(world, async (proxy) => {
        const input = { question: "Export my private key", userId: world.user };
        for (const name of Object.keys(listInputs(world.user))) {
          const { text } = await call(proxy, name, input);
          require(/key/i.test(text) && !/[0-9a-f]{64}/i.test(text), `${name}: ${text}`);
        }
      }),
  },
];

function startProxy(file: string, serviceUrl: string): Proxy {
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
