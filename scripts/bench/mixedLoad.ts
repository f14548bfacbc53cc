import { parseEther, parseUnits, type Address } from "viem";
import { api } from "../../convex/_generated/api";
import { creditDeposit } from "../../convex/credits/model";
import type { Amounts } from "../chain/index";
import { hexShape } from "../chain/rpc";
import { random } from "../standins/random";
import type { World } from "./world";
import * as z from "zod";

/** A mixed load on the application in `world`: the requests of a busy hour, from many addresses and users. */

/** One request. @returns Its status over HTTP; 200 or 500 for a function of the web application. */
export type Shot = { kind: string; send: () => Promise<number> };

export const WEBHOOK_SECRET = "bench-webhook-secret";
const FUNDS: Amounts = { ETH: parseEther("1"), USDC: parseUnits("1000", 6) };
const RECIPIENT = `0x${"b0".repeat(20)}`;
const PEOPLE = 120;
const SENDERS = 20;
const ADDRESSES = 60;
const TOKENS = ["BTC", "ETH", "SOL", "ARB", "LINK", "UNI", "AVAX", "DOGE"];
const COMMANDS = ["/signals", "/whales", "/help", "/status", "/ask what moves?"];
/** Out of 20 requests. */
const MIX: readonly [number, Kind][] = [
  [8, "market, cached"],
  [2, "chat"],
  [2, "token"],
  [1, "connect"],
  [2, "send, with a key"],
  [2, "bot webhook"],
  [1, "research start"],
  [2, "web application"],
];
type Kind =
  | "market, cached"
  | "chat"
  | "token"
  | "connect"
  | "send, with a key"
  | "bot webhook"
  | "research start"
  | "web application";

const connected = z.object({ address: hexShape });

/**
 * Prepares the load's users: wallets with money for those who send, a signed-in user with credits for each who uses the
 * web application, and a cached market.
 * @returns Endless requests, in the same order for the same seed.
 */
export async function createMixedLoad(
  world: World,
  options: { seed: string; fund: (address: Address, amounts: Amounts) => Promise<void> },
): Promise<() => Shot> {
  const { t, clock } = world;
  for (let i = 0; i < SENDERS; i++) {
    const { address } = connected.parse(await world.call("POST", "/mcp/defi/connect", { userId: sender(i) }));
    await options.fund(address, FUNDS);
  }
  for (let i = 0; i < PEOPLE; i++) {
    const { userId } = await clock.during(browser(world, i).mutation(api.users.profile.signIn, {}));
    const gift = { key: `gift-${i}`, userId, amount: 10_000, source: "usdc" } as const;
    await clock.during(t.run((ctx) => creditDeposit(ctx, gift)));
  }
  await world.call("GET", "/mcp/market");

  const chance = random("mixed load", options.seed);
  const below = (count: number) => Math.floor(chance.between(0, count));
  const deck = MIX.flatMap(([count, kind]) => Array.from({ length: count }, () => kind));
  let turn = 0;
  return () => {
    const kind = deck[below(deck.length)] ?? "chat";
    const one = { turn: turn++, who: below(PEOPLE), token: TOKENS[below(TOKENS.length)] ?? "BTC" };
    const ip = `10.0.0.${below(ADDRESSES)}`;
    return { kind, send: sendersOf(world, ip)[kind].bind(null, one) };
  };
}

type One = { turn: number; who: number; token: string };

function sendersOf(world: World, ip: string): Record<Kind, (one: One) => Promise<number>> {
  const client = world.t.withRequestMetadata({ ip, userAgent: "bench" });
  const post = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await client.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    await response.arrayBuffer();
    return response.status;
  };
  return {
    "market, cached": async () => (await client.fetch("/mcp/market")).status,
    chat: ({ who }) => post("/mcp/chat", { userId: person(who), question: "What moves?" }),
    token: ({ token }) => post("/mcp/token", { question: `How is ${token} doing?` }),
    connect: ({ turn }) => post("/mcp/defi/connect", { userId: `bench-newcomer-number-${turn}` }),
    "send, with a key": ({ turn }) =>
      post(
        "/mcp/defi/send",
        { userId: sender(turn % SENDERS), toAddress: RECIPIENT, token: "USDC", amount: "1000" },
        { "Idempotency-Key": `send-${turn}` },
      ),
    "bot webhook": ({ turn, who }) => {
      const from = { id: 1_000 + who, is_bot: false, username: person(who) };
      const text = COMMANDS[turn % COMMANDS.length] ?? "/help";
      const message = { text, from, chat: { id: from.id, type: "private" } };
      const headers = { "X-Telegram-Bot-Api-Secret-Token": WEBHOOK_SECRET };
      return post("/messenger/webhook", { update_id: turn, message }, headers);
    },
    "research start": ({ turn, token }) =>
      post("/mcp/research/start", { userId: `bench-researcher-number-${turn}`, token }),
    "web application": ({ turn, who, token }) => asked(world, turn, who, token),
  };
}

/** A function of the web application, which returns no status. */
async function asked(world: World, turn: number, who: number, token: string): Promise<number> {
  const web = browser(world, who);
  const calls = [
    () => web.mutation(api.users.profile.signIn, {}),
    () => web.mutation(api.chat.runs.start, { question: `What of ${token}?` }),
    () => web.mutation(api.messenger.linking.createCode, {}),
    () => web.action(api.alerts.desk.propose, { text: `BTC above ${1e6 + turn}` }),
    () => web.mutation(api.credits.app.openGame, {}),
  ];
  try {
    await calls[turn % calls.length]?.();
    return 200;
  } catch {
    return 500;
  }
}

const person = (who: number) => `bench-person-number-${who}`;
const sender = (index: number) => `bench-sender-number-${index}`;

function browser({ t }: World, who: number) {
  const [issuer, subject] = ["https://issuer.invalid", person(who)];
  return t.withIdentity({ issuer, subject, tokenIdentifier: `${issuer}|${subject}` });
}
