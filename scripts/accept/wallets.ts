import * as z from "zod";
import { require, same, Skipped, type Row } from "./row";
import type { Service } from "./service";
import { address, digits, portfolio } from "./shapes";

/** The contract's rows on wallets and on the messenger. */

const created = z.object({ address, existing: z.boolean() });
const connected = z.object({ address });
const balance = z.object({ address, eth: digits, usdc: digits, network: z.string().min(1) });
const settings = z.object({ success: z.literal(true) });
const NOBODY = "0x000000000000000000000000000000000000dEaD";

/** @param linkCode Makes a code as a signed-in user does; `null` if nobody is signed in. */
export function walletRows(
  service: Service,
  userId: string,
  linkCode: (() => Promise<string>) | null,
): Row[] {
  const { get, post } = service;
  return [
    {
      says: "POST /mcp/wallet/create makes one wallet per userId",
      look: async () => {
        const first = (await post("/mcp/wallet/create", { userId })).as(created);
        const second = (await post("/mcp/wallet/create", { userId })).as(created);
        same("address", second.address, first.address);
        same("existing", second.existing, true);
      },
    },
    {
      says: "GET /mcp/wallet/balance returns the wallet's ETH and USDC",
      look: async () => void (await get("/mcp/wallet/balance", { userId })).as(balance),
    },
    {
      says: "GET /mcp/wallet/balance of a user without a wallet says that none was found",
      look: async () => {
        const error = (await get("/mcp/wallet/balance", { userId: `nobody-${crypto.randomUUID()}` })).error(
          404,
        );
        require(/no wallet/i.test(error), `The error says: ${error}`);
      },
    },
    {
      says: "/mcp/defi/connect makes the custody wallet, or returns the existing one",
      look: async () => {
        const first = (await post("/mcp/defi/connect", { userId })).as(connected);
        const second = (await get("/mcp/defi/connect", { userId })).as(connected);
        same("address", second.address, first.address);
      },
    },
    {
      says: "GET /mcp/defi/portfolio returns address, balances and total value, and makes a wallet if there is none",
      look: async () => {
        const own = (await get("/mcp/defi/portfolio", { userId })).as(portfolio);
        same("address", own.address, (await post("/mcp/defi/connect", { userId })).as(connected).address);
        (await get("/mcp/defi/portfolio", { userId: `new-${crypto.randomUUID()}` })).as(portfolio);
      },
    },
    {
      says: "POST /mcp/defi/swap and send refuse malformed orders with 400",
      look: async () => {
        const swap = { userId, fromToken: "ETH", toToken: "USDC", amount: "1000" };
        const send = { userId, toAddress: NOBODY, token: "ETH", amount: "1000" };
        for (const wrong of [
          { fromToken: "DOGE" },
          { toToken: "" },
          { amount: "0.5" },
          { amount: "-1" },
          { amount: "0" },
        ]) {
          (await post("/mcp/defi/swap", { ...swap, ...wrong })).error(400);
        }
        for (const wrong of [{ toAddress: "0x123" }, { token: "DOGE" }, { amount: "1.5" }, { amount: "" }]) {
          (await post("/mcp/defi/send", { ...send, ...wrong })).error(400);
        }
      },
    },
    {
      says: "POST /user/messenger takes either field alone, and null as absent",
      look: async () => {
        (await post("/user/messenger", { userId, messengerChatId: "424242" })).as(settings);
        const botToken = "123456:AAaaBBbbCCccDDddEEeeFFffGGggHHhhIIi";
        (await post("/user/messenger", { userId, messengerBotToken: botToken, messengerChatId: null })).as(
          settings,
        );
        (await post("/user/messenger", { userId, messengerBotToken: "", messengerChatId: "" })).as(settings);
      },
    },
    {
      says: "POST /messenger/connect answers 404 to a code that nobody made, and the account stays unlinked",
      look: async () => {
        const messengerId = `accept-${crypto.randomUUID()}`;
        const code = { linkToken: "ZZZZZZZZ", messengerId, messengerUsername: "accept" };
        (await post("/messenger/connect", code)).error(404);
        const unlinked = (await get("/messenger/wallet", { messengerId })).as(
          z.object({ linked: z.boolean() }),
        );
        same("linked", unlinked.linked, false);
      },
    },
    {
      says: "POST /messenger/connect links with a user's code, and answers 409 if the account connects again",
      look: async () => {
        if (linkCode === null) throw new Skipped("needs a signed-in user: --api and --token");
        const messengerId = `accept-${crypto.randomUUID()}`;
        const account = { messengerId, messengerUsername: "accept" };
        const linked = (await post("/messenger/connect", { linkToken: await linkCode(), ...account })).as(
          z.object({ success: z.literal(true), walletAddress: address }),
        );
        const known = (await get("/messenger/wallet", { messengerId })).as(
          z.object({ linked: z.literal(true), walletAddress: address, userId: z.string().min(1) }),
        );
        same("walletAddress", known.walletAddress, linked.walletAddress);
        (await post("/messenger/connect", { linkToken: await linkCode(), ...account })).error(409);
      },
    },
  ];
}
