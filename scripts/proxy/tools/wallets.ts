import * as z from "zod/mini";
import { lines, time, tokenAmount, usd } from "../format";
import { QUICK_MS, reads, SLOW_MS, tool, type Hints, type Tool } from "../tool";

const SECRET_ID =
  "userId is the person's secret id: for a new person choose a long random one (a UUID), tell them to keep it, and use the same one ever after; whoever knows it controls the wallet.";

const AMOUNTS =
  'amount is a whole number in the token\'s smallest unit, as a string: "1000000" is 1 USDC or USDT, "1000000000000000000" is 1 ETH, WETH or DAI.';

const CREATES: Hints = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
};

const MOVES_MONEY: Hints = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** `Base` for `base`. */
const networkName = (network: string) => network.charAt(0).toUpperCase() + network.slice(1);

const created = (existing: boolean) => (existing ? "is there already" : "was created");

const connectWallet = tool({
  name: "connect_wallet",
  title: "Connect the custody wallet",
  description: `Creates the user's custody wallet on Base, the one that swap_tokens and send_token spend, or returns the existing one. ${SECRET_ID}`,
  endpoint: { method: "POST", path: "/mcp/defi/connect" },
  hints: CREATES,
  repeats: "freely",
  structured: true,
  opensWallet: true,
  timeoutMs: QUICK_MS,
  view: z.object({ address: z.string(), existing: z.boolean(), network: z.string() }),
  text: ({ address, existing, network }) =>
    lines(
      `The custody wallet ${created(existing)}: ${address} on ${networkName(network)}.`,
      "Fund it at this address; keep the userId, it is the only way to it.",
    ),
});

const createWallet = tool({
  name: "create_wallet",
  title: "Create a basic wallet",
  description: `Creates the user's basic wallet on Base, or returns the existing one. It is apart from the custody wallet of connect_wallet and has another address. ${SECRET_ID}`,
  endpoint: { method: "POST", path: "/mcp/wallet/create" },
  hints: CREATES,
  repeats: "freely",
  structured: true,
  opensWallet: true,
  timeoutMs: QUICK_MS,
  view: z.object({ address: z.string(), existing: z.boolean() }),
  text: ({ address, existing }) =>
    lines(
      `The basic wallet ${created(existing)}: ${address} on Base.`,
      "Keep the userId, it is the only way to it.",
    ),
});

const getWalletBalance = tool({
  name: "get_wallet_balance",
  title: "Wallet balance",
  description:
    "ETH and USDC of the user's basic wallet, or of the custody wallet where there is no basic one, as exact decimals in whole tokens. userId is the person's secret id.",
  endpoint: { method: "GET", path: "/mcp/wallet/balance" },
  hints: reads("live"),
  repeats: "freely",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.object({ address: z.string(), eth: z.string(), usdc: z.string(), network: z.string() }),
  text: ({ address, eth, usdc, network }) =>
    `${address} on ${networkName(network)} holds ${eth} ETH and ${usdc} USDC.`,
});

const getPortfolio = tool({
  name: "get_portfolio",
  title: "Portfolio",
  description: `All token balances of the user's custody wallet with live prices and the total, in USD; a token without a live price is left out of the total. Creates the wallet when there is none. ${SECRET_ID}`,
  endpoint: { method: "GET", path: "/mcp/defi/portfolio" },
  hints: { ...CREATES, openWorldHint: true },
  repeats: "freely",
  structured: true,
  opensWallet: true,
  timeoutMs: SLOW_MS,
  view: z.object({
    address: z.string(),
    network: z.string(),
    balances: z.array(
      z.object({
        token: z.string(),
        balance: z.string(),
        priceUsd: z.nullable(z.number()),
        valueUsd: z.nullable(z.number()),
      }),
    ),
    totalValueUsd: z.number(),
    pricedAt: z.string(),
  }),
  text: ({ address, network, balances, totalValueUsd, pricedAt }) =>
    lines(
      `Custody wallet ${address} on ${networkName(network)}, ${time(pricedAt)}`,
      "",
      "| Token | Balance | Price | Value |",
      "| --- | ---: | ---: | ---: |",
      ...balances.map(
        ({ token, balance, priceUsd, valueUsd }) =>
          `| ${token} | ${balance} | ${priceUsd === null ? "no price" : usd(priceUsd)} | ${valueUsd === null ? "" : usd(valueUsd)} |`,
      ),
      "",
      `Total: ${usd(totalValueUsd)}`,
    ),
});

const transaction = z.object({
  txHash: z.string(),
  status: z.enum(["confirmed", "submitted", "failed"]),
  explorerUrl: z.string(),
});

const OUTCOMES = {
  confirmed: "confirmed",
  submitted: "submitted; its confirmation is still to come",
  failed: "FAILED on chain: nothing but network fees was spent",
};

const swapTokens = tool({
  name: "swap_tokens",
  title: "Swap tokens",
  description: `Swaps one token for another in the user's custody wallet on Base, with real money and for good: ask the person first. Tokens: ETH, USDC, USDT, DAI, WETH. ${AMOUNTS} slippageBps is in basis points, 100 (the default) is 1 %. userId is the person's secret id. Every call is another swap: to repeat one whose outcome is not known, pass the idempotencyKey that its answer named.`,
  endpoint: { method: "POST", path: "/mcp/defi/swap" },
  hints: MOVES_MONEY,
  repeats: "keyed",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.extend(transaction, {
    fromToken: z.string(),
    toToken: z.string(),
    sellAmount: z.string(),
    buyAmount: z.string(),
    minBuyAmount: z.string(),
    priceChecked: z.boolean(),
  }),
  text: (swap) =>
    lines(
      `Swap of ${tokenAmount(swap.sellAmount, swap.fromToken)} for ${swap.status === "confirmed" ? "" : "about "}${tokenAmount(swap.buyAmount, swap.toToken)} (at least ${tokenAmount(swap.minBuyAmount, swap.toToken)}): ${OUTCOMES[swap.status]}.`,
      swap.priceChecked ? null : "There were no price feeds to check the quote against.",
      swap.explorerUrl,
    ),
});

const sendToken = tool({
  name: "send_token",
  title: "Send tokens",
  description: `Sends ETH, USDC, USDT, DAI or WETH from the user's wallet on Base to an address, with real money and for good: ask the person first and have them check the address. ${AMOUNTS} from says which wallet pays: custody (the default) or basic. userId is the person's secret id. Every call is another transfer: to repeat one whose outcome is not known, pass the idempotencyKey that its answer named.`,
  endpoint: { method: "POST", path: "/mcp/defi/send" },
  hints: MOVES_MONEY,
  repeats: "keyed",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.extend(transaction, { token: z.string(), toAddress: z.string(), amount: z.string() }),
  text: (sent) =>
    lines(
      `Transfer of ${tokenAmount(sent.amount, sent.token)} to ${sent.toAddress}: ${OUTCOMES[sent.status]}.`,
      sent.explorerUrl,
    ),
});

export const walletTools: Tool[] = [
  connectWallet,
  swapTokens,
  sendToken,
  getPortfolio,
  createWallet,
  getWalletBalance,
];
