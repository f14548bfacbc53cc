import { randomBytes } from "node:crypto";
import { ConvexHttpClient } from "convex/browser";
import { createPublicClient, erc20Abi, http } from "viem";
import { base } from "viem/chains";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { TOKENS } from "../../scripts/chain/addresses";
import { freshAddress } from "../support/chain/walletApp";
import { eventually } from "../support/waits";
import { ran, startMain } from "../stack/processes";

/** `npm start` in a process of its own, reached as people and those who rob them reach it: by its ports, and its commands. */

const placesShape = z.object({ http: z.url(), functions: z.url(), standins: z.url(), chain: z.url() });
const cardShape = z.object({
  ...{ chatId: z.string(), method: z.string(), text: z.string() },
  keyboard: z.array(z.array(z.object({ text: z.string() }))).optional(),
});
const bodyShape = z.record(z.string(), z.unknown());
const addressShape = z.templateLiteral(["0x", z.string()]);

type Call = {
  /** What comes with it as a bearer: a token or a key. */
  as?: string;
  /** Whole, as the service is sent it; an address of its own for each call otherwise. */
  forwarded?: string;
  key?: string;
};

export type Running = Awaited<ReturnType<typeof startRunning>>;

export const id = () => randomBytes(18).toString("base64url");

export async function startRunning(args: string[] = ["--ephemeral"], env: Record<string, string> = {}) {
  const main = startMain([...args, "--json"], env);
  const [line = ""] = await main.output(/^\{.*\}$/m);
  const { http: site, functions, standins, chain } = placesShape.parse(JSON.parse(line));
  const PROVIDERS_PORT = new URL(standins).port;
  const CHAIN_PORT = new URL(chain).port;
  const client = createPublicClient({ chain: base, transport: http(chain), cacheTime: 0 });

  const ask = async (path: string, init: RequestInit, { as, forwarded, key }: Call) => {
    const [a, b, c] = randomBytes(3);
    const headers = {
      "X-Forwarded-For": forwarded ?? `10.${a}.${b}.${c}`,
      ...(as === undefined ? {} : { Authorization: `Bearer ${as}` }),
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    };
    const response = await fetch(site + path, { ...init, headers });
    return { status: response.status, body: bodyShape.parse(await response.json()) };
  };
  const control = async (what: "say" | "tap", body: object) => {
    const answer = await fetch(`${standins}/_control/messenger/${what}`, {
      ...{ method: "POST", body: JSON.stringify(body) },
    });
    return answer.ok;
  };
  const cards = async (chat: number) => {
    const sent = z.array(cardShape).parse(await (await fetch(`${standins}/_sent/messenger`)).json());
    return sent.filter(({ chatId }) => chatId === String(chat));
  };
  return {
    ...{ site, functions, standins, main, cards },
    get: (path: string, call: Call = {}) => ask(path, {}, call),
    post: (path: string, body: object, call: Call = {}) =>
      ask(path, { method: "POST", body: JSON.stringify(body) }, call),
    /** What `npm run token` prints. */
    token: async (user: string) =>
      (await ran("scripts/stack/token.ts", [user], { PROVIDERS_PORT })).stdout.trim(),
    browser: (token: string) => {
      const one = new ConvexHttpClient(functions);
      one.setAuth(token);
      return one;
    },
    /** `npm run fund`, with 1 ETH. */
    fund: async (address: string, usdc: number) => {
      const args = [address, "--eth", "1", "--usdc", String(usdc)];
      const { code, output } = await ran("scripts/stack/fund.ts", args, { CHAIN_PORT });
      if (code !== 0) throw new Error(output);
    },
    usdcOf: async (address: `0x${string}`) =>
      Number(
        await client.readContract({
          ...{ address: TOKENS.USDC, abi: erc20Abi, functionName: "balanceOf", args: [address] },
        }),
      ) / 1e6,
    say: (chat: number, text: string) => control("say", { chatId: chat, text }),
    /** Waits for a button, and taps it. @param from Who taps, if not the chat's own account. */
    tap: async (chat: number, button: string) => {
      await eventually(async () => ((await control("tap", { chatId: chat, button })) ? true : null));
    },
    /** Waits until a chat has been told something. */
    told: (chat: number, words: string) =>
      eventually(async () => (await cards(chat)).findLast(({ text }) => text.includes(words))?.text),
  };
}

/** A signed-in person with a phone and money. */
export async function ownerOf(stack: Running, chat: number, usdc = 9_000) {
  const token = await stack.token(`person-${chat}`);
  const browser = stack.browser(token);
  const { userId } = await browser.mutation(api.users.profile.signIn, {});
  const { code } = await browser.mutation(api.messenger.linking.createCode, {});
  await stack.say(chat, `/connect ${code}`);
  await stack.told(chat, "is linked");
  const { body } = await stack.post("/mcp/defi/connect", { userId });
  const address = addressShape.parse(body.address);
  await stack.fund(address, usdc);
  return { chat, token, browser, userId, address };
}

/** A wallet of an id that nobody owns. */
export async function walletOf(stack: Running, userId: string, usdc = 3_000) {
  const { body } = await stack.post("/mcp/defi/connect", { userId });
  await stack.fund(addressShape.parse(body.address), usdc);
  return body;
}

export const send = (userId: string, usd: number, toAddress: string = freshAddress()) => ({
  ...{ userId, token: "USDC", amount: String(usd * 1_000_000), toAddress },
});

export const swap = (userId: string, usd: number, slippageBps = 1_000) => ({
  ...{ userId, fromToken: "USDC", toToken: "DAI", amount: String(usd * 1_000_000), slippageBps },
});
