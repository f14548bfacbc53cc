import { encodeFunctionData, erc20Abi, maxUint256, parseEther, type Address } from "viem";
import type { Progress } from "./progress";
import { figure, median, type Table } from "./table";
import * as walletSends from "./walletSends";
import { startWalletStack, type Answer, type OutsideCall, type WalletStack } from "./walletStack";

/** Calls to the chain's RPC and to the swap provider, per call of an endpoint; then the rate of sends. */
export const question = "How many calls to the outside does each use of a wallet cost?";

const REPEATS = 3;
const USER = "bench-wallet";
const RECIPIENT = `0x${"b0".repeat(20)}`;
const UNITS = 1_000n * 10n ** 6n;
const HOLDINGS = {
  ETH: parseEther("10"),
  USDC: UNITS,
  USDT: UNITS,
  DAI: parseEther("1000"),
};

type Use = {
  name: string;
  call: (stack: WalletStack) => Promise<Answer>;
  /** What comes before each call and does not count. */
  before?: (stack: WalletStack, wallet: Address) => Promise<void>;
};

const uses: readonly Use[] = [
  { name: "portfolio", call: ({ call }) => call("GET", `/mcp/defi/portfolio?userId=${USER}`) },
  { name: "send of ETH", call: send("ETH", "1") },
  { name: "send of an ERC-20", call: send("USDC", "1") },
  { name: "swap of ETH", call: swap("ETH", "USDC", parseEther("0.01")) },
  {
    name: "swap of an ERC-20, allowance in place",
    before: (stack, wallet) => allow(stack, wallet, "USDC", maxUint256),
    call: swap("USDC", "WETH", 5_000_000n),
  },
  { name: "swap of an ERC-20, with its approval", call: swap("DAI", "WETH", parseEther("5")) },
  {
    name: "swap of an ERC-20, old allowance cleared",
    before: (stack, wallet) => allow(stack, wallet, "USDT", 5n),
    call: swap("USDT", "WETH", 5_000_000n),
  },
];

type Counted = {
  known: OutsideCall[];
  /** Of `known`. */
  approval: OutsideCall[];
  receipt: OutsideCall[];
  swaps: OutsideCall[];
  ms: number;
};

export async function run(progress: Progress): Promise<Table> {
  const stack = await startWalletStack();
  const rows: string[][] = [];
  try {
    const wallet = await stack.fundedWallet(USER, HOLDINGS);
    for (const use of uses) {
      progress(use.name);
      rows.push(await rowOf(stack, wallet, use));
    }
  } finally {
    await stack.stop();
  }
  return {
    inputs: [
      "The local stack with its chain, over loopback HTTP, in real time; one call at a time, no transfer limits set.",
      `Each cell: HTTP round trips / JSON-RPC calls in them, counted at the application's fetch, ${REPEATS} times each;`,
      "fewest–most where they differ. Hash known: all up to handing the transaction out, an approval and its receipt",
      "included. Receipt: asking for the transaction's own. Time: until the answer, median.",
    ],
    columns: [
      "",
      "until the hash is known",
      "of it for approvals mined",
      "for the receipt",
      "swap API",
      "ms",
    ],
    rows,
    notes: [],
    next: { question: walletSends.question, ...(await walletSends.run(progress)) },
  };
}

async function rowOf(stack: WalletStack, wallet: Address, use: Use): Promise<string[]> {
  const counted: Counted[] = [];
  for (let i = 0; i < REPEATS; i++) counted.push(await count(stack, wallet, use));
  const cell = (part: "known" | "approval" | "receipt") => {
    const shown = [
      counted.map((one) => one[part].length),
      counted.map((one) => one[part].reduce((sum, { calls }) => sum + calls, 0)),
    ];
    return shown.map(span).join(" / ");
  };
  return [
    use.name,
    cell("known"),
    cell("approval"),
    cell("receipt"),
    span(counted.map(({ swaps }) => swaps.length)),
    figure(median(counted.map(({ ms }) => ms))),
  ];
}

async function count(stack: WalletStack, wallet: Address, { call, before }: Use): Promise<Counted> {
  await before?.(stack, wallet);
  stack.taken();
  const startedAt = performance.now();
  const { status, body } = await call(stack);
  const ms = performance.now() - startedAt;
  const failed = status !== 200 || (body.status ?? "confirmed") !== "confirmed";
  if (failed) throw new Error(`A call of the bench's failed: ${status} ${JSON.stringify(body)}`);
  const taken = stack.taken();
  const onChain = taken.filter(({ to }) => to === "chain");
  const isOwn = ({ receiptsOf }: OutsideCall) => receiptsOf.includes(String(body.txHash));
  const known = onChain.filter((one) => !isOwn(one));
  return {
    known,
    approval: known.filter(({ receiptsOf }) => receiptsOf.length > 0),
    receipt: onChain.filter(isOwn),
    swaps: taken.filter(({ to }) => to === "swap provider"),
    ms,
  };
}

function send(token: string, amount: string) {
  const order = { userId: USER, toAddress: RECIPIENT, token, amount };
  return ({ call }: WalletStack) => call("POST", "/mcp/defi/send", order);
}

function swap(fromToken: string, toToken: string, amount: bigint) {
  const order = { userId: USER, fromToken, toToken, amount: amount.toString() };
  return ({ call }: WalletStack) => call("POST", "/mcp/defi/swap", order);
}

/** An allowance for Permit2 that the owner once gave by other means. */
async function allow(
  { chain }: WalletStack,
  wallet: Address,
  token: "USDC" | "USDT",
  amount: bigint,
): Promise<void> {
  const data = encodeFunctionData({
    abi: erc20Abi,
    functionName: "approve",
    args: [chain.addresses.permit2, amount],
  });
  await chain.rpc("anvil_impersonateAccount", [wallet]);
  const transaction = { from: wallet, to: chain.addresses.tokens[token], data };
  const hash = await chain.rpc("eth_sendTransaction", [transaction]);
  while ((await chain.rpc("eth_getTransactionReceipt", [hash])) === null) await chain.miner.mine();
}

/** `3`, or `3–5`. */
function span(values: readonly number[]): string {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  return least === most ? figure(least) : `${figure(least)}–${figure(most)}`;
}
