import * as z from "zod/mini";
import { lines, time, tokenAmount, usd } from "../format";
import { QUICK_MS, reads, SLOW_MS, tool, type Hints, type Tool } from "../tool";

const SECRET_ID =
  "userId is the person's secret id: for a new person choose a long random one (a UUID), tell them to keep it, and always use the same one; until somebody owns it, anyone who knows it controls the wallet.";

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

const basic = z.object({ kind: z.string(), address: z.string(), eth: z.string(), usdc: z.string() });

const weakId = { warning: z.optional(z.string()) };

/** The warning about a short userId; `null` without one. */
function warned({ warning }: { warning?: string | undefined }): string | null {
  return warning ?? null;
}

const connectWallet = tool({
  name: "connect_wallet",
  title: "Connect the custody wallet",
  description: `Creates the user's custody wallet on Base, the one that swap_tokens and send_token spend, or returns the existing one. ${SECRET_ID}`,
  endpoint: { method: "POST", path: "/mcp/defi/connect" },
  hints: CREATES,
  repeats: "freely",
  structured: true,
  timeoutMs: QUICK_MS,
  view: z.object({
    ...{ address: z.string(), existing: z.boolean(), network: z.string() },
    ownerUrl: z.optional(z.string()),
    ...weakId,
  }),
  text: ({ address, existing, network, ownerUrl, ...told }) =>
    lines(
      `The custody wallet ${created(existing)}: ${address} on ${networkName(network)}.`,
      "Fund it at this address.",
      ownerUrl === undefined
        ? "Keep the userId: no tool reaches the wallet without it."
        : `Keep the userId: no tool reaches the wallet without it, and until somebody owns it nothing else does. Give this link to the person whose money it is: the person who taps Own there has another way to it, and approves what the userId alone would move. ${ownerUrl}`,
      warned(told),
    ),
});

const createWallet = tool({
  name: "create_wallet",
  title: "Create a basic wallet",
  description: `Creates the user's basic wallet on Base, or returns the existing one. It is not the custody wallet of connect_wallet.`,
  endpoint: { method: "POST", path: "/mcp/wallet/create" },
  hints: CREATES,
  repeats: "freely",
  structured: true,
  timeoutMs: QUICK_MS,
  view: z.object({ address: z.string(), existing: z.boolean(), ...weakId }),
  text: ({ address, existing, ...told }) =>
    lines(
      `The basic wallet ${created(existing)}: ${address} on Base.`,
      "Keep the userId: no tool reaches the wallet without it.",
      warned(told),
    ),
});

const getWalletBalance = tool({
  name: "get_wallet_balance",
  title: "Wallet balance",
  description:
    "ETH and USDC of the user's basic wallet and of the custody wallet, if they exist, as exact decimals in whole tokens.",
  endpoint: { method: "GET", path: "/mcp/wallet/balance" },
  hints: reads("live"),
  repeats: "freely",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.object({ ...basic.shape, network: z.string(), otherWallet: z.nullable(basic), ...weakId }),
  text: ({ network, otherWallet, ...told }) =>
    lines(
      ...[told, ...(otherWallet === null ? [] : [otherWallet])].map(
        ({ kind, address, eth, usdc }) =>
          `The ${kind} wallet ${address} on ${networkName(network)} holds ${eth} ETH and ${usdc} USDC.`,
      ),
      warned(told),
    ),
});

const getPortfolio = tool({
  name: "get_portfolio",
  title: "Portfolio",
  description: `All token balances of the user's custody wallet with live prices and the total, in USD; a token without a live price is left out of the total. Creates the wallet if there is none.`,
  endpoint: { method: "GET", path: "/mcp/defi/portfolio" },
  hints: { ...CREATES, openWorldHint: true },
  repeats: "freely",
  structured: true,
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
    ...weakId,
  }),
  text: ({ address, network, balances, totalValueUsd, pricedAt, ...told }) =>
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
      warned(told),
    ),
});

const signed = z.object({
  success: z.boolean(),
  txHash: z.string(),
  status: z.enum(["confirmed", "submitted", "failed"]),
  explorerUrl: z.string(),
  ...weakId,
  error: z.optional(z.string()),
});

/** A dry run. */
const rehearsed = z.object({
  status: z.literal("rehearsed"),
  ...weakId,
  rehearsal: z.object({
    refusal: z.nullable(z.object({ status: z.number(), error: z.string() })),
    valueUsd: z.nullable(z.number()),
    limits: z.array(
      z.object({
        of: z.enum(["transfer", "day"]),
        about: z.optional(z.string()),
        mostUsd: z.number(),
        leftUsd: z.number(),
      }),
    ),
    fees: z.nullable(z.object({ transactions: z.number(), mostEth: z.string() })),
    price: z.optional(z.object({ costBps: z.nullable(z.number()), toleratedBps: z.number() })),
  }),
});

/** An order that waits for the owner's tap. */
const waiting = z.object({
  status: z.enum(["awaiting_approval", "approved"]),
  error: z.string(),
  approvalId: z.string(),
  idempotencyKey: z.string(),
  expiresAt: z.string(),
  ...weakId,
});

function waitingText(what: string, { status, idempotencyKey, expiresAt }: z.output<typeof waiting>) {
  return status === "approved"
    ? `${what}: approved, and on its way. Call again with the same input and idempotencyKey "${idempotencyKey}" for its outcome.`
    : `${what}: NOTHING was moved yet. The owner of this userId was asked in their chat and has until ${time(expiresAt)}: ask the person to approve it there, then call again with the same input and idempotencyKey "${idempotencyKey}" for its outcome.`;
}

const OUTCOMES = {
  confirmed: "confirmed",
  submitted: "submitted; its confirmation is still to come",
  failed: "FAILED on chain: nothing but network fees was spent",
};

const DRY_RUN = "dryRun: true rehearses it and moves nothing.";

/** The text of any rehearsal. */
function rehearsal({ refusal, valueUsd, limits, fees, price }: z.output<typeof rehearsed>["rehearsal"]) {
  return lines(
    "A rehearsal: NOTHING was moved.",
    refusal === null
      ? "Nothing speaks against it as of now."
      : `It would be refused (${refusal.status}): ${refusal.error}`,
    valueUsd === null ? "There is no live price for it." : `Worth ${usd(valueUsd)}.`,
    price === undefined || price.costBps === null
      ? null
      : `By the price feeds it costs ${price.costBps / 100} %; more than ${price.toleratedBps / 100} % is refused.`,
    fees === null
      ? null
      : `Network fees: at most ${fees.mostEth} ETH, for ${fees.transactions === 1 ? "one transaction" : `${fees.transactions} transactions`}.`,
    ...limits.map(
      ({ of, about, mostUsd, leftUsd }) =>
        `Limit of ${about ?? (of === "day" ? "a day" : "one transfer")}: ${usd(mostUsd)}, ${usd(leftUsd)} of it left.`,
    ),
  );
}

const swapTokens = tool({
  name: "swap_tokens",
  title: "Swap tokens",
  description: `Swaps one token for another in the user's custody wallet on Base, with real money and for good: ask the person first. ${DRY_RUN} After its outcome, the same call is another swap: to repeat one, pass the idempotencyKey from its answer.`,
  endpoint: { method: "POST", path: "/mcp/defi/swap" },
  hints: MOVES_MONEY,
  repeats: "ordered",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.union([
    z.extend(signed, {
      fromToken: z.string(),
      toToken: z.string(),
      sellAmount: z.string(),
      buyAmount: z.string(),
      minBuyAmount: z.string(),
      priceChecked: z.boolean(),
    }),
    z.extend(rehearsed, {
      fromToken: z.string(),
      toToken: z.string(),
      sellAmount: z.string(),
      buyAmount: z.optional(z.string()),
      minBuyAmount: z.optional(z.string()),
    }),
    z.extend(waiting, { fromToken: z.string(), toToken: z.string(), sellAmount: z.string() }),
  ]),
  text: (swap) => {
    const sold = tokenAmount(swap.sellAmount, swap.fromToken);
    if ("approvalId" in swap)
      return lines(waitingText(`Swap of ${sold} to ${swap.toToken}`, swap), warned(swap));
    if (swap.status === "rehearsed") {
      const { buyAmount, minBuyAmount, toToken } = swap;
      const bought =
        buyAmount === undefined || minBuyAmount === undefined
          ? ""
          : ` for about ${tokenAmount(buyAmount, toToken)} (at least ${tokenAmount(minBuyAmount, toToken)})`;
      return lines(`Swap of ${sold}${bought}.`, rehearsal(swap.rehearsal), warned(swap));
    }
    return lines(
      `Swap of ${sold} for ${swap.status === "confirmed" ? "" : "about "}${tokenAmount(swap.buyAmount, swap.toToken)} (at least ${tokenAmount(swap.minBuyAmount, swap.toToken)}): ${OUTCOMES[swap.status]}.`,
      swap.error === undefined ? null : `NOT as ordered: ${swap.error}.`,
      swap.priceChecked ? null : "There were no price feeds to check the quote against.",
      swap.explorerUrl,
      warned(swap),
    );
  },
});

const sendToken = tool({
  name: "send_token",
  title: "Send tokens",
  description: `Sends tokens from the user's wallet on Base to an address, with real money and for good: ask the person first and have them check the address. from says which wallet pays: custody (the default) or basic. ${DRY_RUN} After its outcome, the same call is another transfer: to repeat one, pass the idempotencyKey from its answer.`,
  endpoint: { method: "POST", path: "/mcp/defi/send" },
  hints: MOVES_MONEY,
  repeats: "ordered",
  structured: true,
  timeoutMs: SLOW_MS,
  view: z.union([
    z.extend(signed, { token: z.string(), toAddress: z.string(), amount: z.string() }),
    z.extend(rehearsed, { token: z.string(), toAddress: z.string(), amount: z.string() }),
    z.extend(waiting, { token: z.string(), toAddress: z.string(), amount: z.string() }),
  ]),
  text: (sent) => {
    const what = `Transfer of ${tokenAmount(sent.amount, sent.token)} to ${sent.toAddress}`;
    if ("approvalId" in sent) return lines(waitingText(what, sent), warned(sent));
    return sent.status === "rehearsed"
      ? lines(`${what}.`, rehearsal(sent.rehearsal), warned(sent))
      : lines(`${what}: ${OUTCOMES[sent.status]}.`, sent.explorerUrl, warned(sent));
  },
});

export const walletTools: Tool[] = [
  connectWallet,
  swapTokens,
  sendToken,
  getPortfolio,
  createWallet,
  getWalletBalance,
];
