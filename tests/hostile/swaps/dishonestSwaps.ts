import {
  encodeFunctionData,
  erc20Abi,
  isAddressEqual,
  maxUint256,
  parseAbi,
  parseTransaction,
  zeroAddress,
  type Address,
  type Hex,
} from "viem";
import * as z from "zod";
import type { Chain } from "../../../scripts/chain";
import { MULTICALL3, NATIVE, PERMIT2, REGISTRY, SETTLER, TOKENS } from "../../../scripts/chain/addresses";
import { random, type Random } from "../../../scripts/standins/random";
import { clientOf } from "../../chain/support";
import { until } from "../../support/waits";
import { createWalletApp, type WalletApp } from "../../support/chain/walletApp";
import { beforehand } from "../../support/chain/chain";
import { closeApp } from "../../support/world";
import { hostileTokenAbi, place, puppetRun, register } from "./contracts";
import { lie, redirect, type SentQuote } from "./quotes";
import { alterationsOf, readCall, slippageIn } from "./settlerCalls";

/**
 * Swaps whose quotes lie, each in ways of its own that belong to its seed: in the contract they call and what they call
 * it with, in recipients, spenders, amounts, types and deadlines, in what the provider's genuine contract is made to do,
 * and in a token that keeps a share of what is transferred or calls back in the middle of it.
 */

export type Round = {
  seed: number;
  lies: string[];
  /** The swap was carried out. */
  swapped: boolean;
  /** What left the wallet that was not ordered; `null` when nothing did. */
  found: string | null;
};

const ETHER = 10n ** 18n;
/** The selector of the settler's `execute`. */
const EXECUTE = "0x1fff991f";
const PUPPET: Address = "0x9099e70000000000000000000000000000000002";
const THIEF: Address = "0x6666666666666666666666666666666666666666";
const SYMBOLS = ["ETH", "USDC", "USDT", "DAI", "WETH"] as const;
type Symbol = (typeof SYMBOLS)[number];
const ONE: Record<Symbol, bigint> = { ETH: ETHER, USDC: 10n ** 6n, USDT: 10n ** 6n, DAI: ETHER, WETH: ETHER };
/** Wallets are replaced before their limits of requests are reached. */
const ROUNDS_PER_WALLET = 50;

const hex = z.templateLiteral(["0x", z.string().regex(/^[0-9a-f]*$/i)]);
const permit2Abi = parseAbi([
  "function approve(address token, address spender, uint160 amount, uint48 expiration)",
]);
const call = {
  transfer: (to: Address, amount: bigint) =>
    encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] }),
  take: (from: Address, to: Address, amount: bigint) =>
    encodeFunctionData({ abi: erc20Abi, functionName: "transferFrom", args: [from, to, amount] }),
  approve: (spender: Address) =>
    encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [spender, maxUint256] }),
  permit: (token: Address) =>
    encodeFunctionData({
      abi: permit2Abi,
      functionName: "approve",
      args: [token, THIEF, 2n ** 160n - 1n, 2 ** 47],
    }),
};

type Order = { owner: Address; fromToken: Symbol; toToken: Symbol; amount: bigint };
type Lie = { name: string; tell: (quote: SentQuote, order: Order) => void };

/** What a quote can say that its request did not ask for. */
function liesOf(chance: Random): Lie[] {
  const token = () => chance.pick(Object.values(TOKENS));
  const someData = (owner: Address): Hex =>
    chance.pick([
      call.transfer(THIEF, ETHER),
      call.take(owner, THIEF, ETHER),
      call.approve(THIEF),
      call.permit(token()),
      "0x",
      hex.parse(`0x${chance.hex(2 * chance.whole(1, 300))}`),
    ]);
  const permitOf = ({ permit2 }: SentQuote) => permit2?.eip712.message;
  return [
    {
      name: "target",
      tell: (quote, { owner }) => {
        const to = chance.pick([THIEF, token(), PERMIT2, MULTICALL3, REGISTRY, PUPPET, owner, zeroAddress]);
        redirect(quote, to, someData(owner));
      },
    },
    { name: "data", tell: (quote, { owner }) => (quote.transaction.data = someData(owner)) },
    {
      name: "recipient",
      tell: (quote, { owner }) => {
        const [from, to] = [owner, THIEF].map((address) => address.slice(2).toLowerCase());
        quote.transaction.data = hex.parse(quote.transaction.data.replaceAll(from ?? "", to ?? ""));
      },
    },
    {
      name: "truncated data",
      tell: (quote) => {
        quote.transaction.data = hex.parse(quote.transaction.data.slice(0, 2 * chance.whole(1, 100)));
      },
    },
    {
      name: "spender",
      tell: (quote) => {
        const permit = permitOf(quote);
        if (permit !== undefined) permit.spender = chance.pick([THIEF, PUPPET, PERMIT2]);
      },
    },
    {
      name: "permitted amount",
      tell: (quote) => {
        const permit = permitOf(quote);
        if (permit !== undefined) permit.permitted.amount = String(maxUint256);
      },
    },
    {
      name: "permitted token",
      tell: (quote) => {
        const permit = permitOf(quote);
        if (permit !== undefined) permit.permitted.token = token();
      },
    },
    { name: "value", tell: (quote) => (quote.transaction.value = String(chance.pick([1n, ETHER, 0n]))) },
    { name: "minimum", tell: (quote) => (quote.minBuyAmount = chance.pick(["0", "1"])) },
    {
      name: "promise",
      tell: (quote) => {
        quote.buyAmount = String(BigInt(quote.buyAmount) * 2n);
        quote.minBuyAmount = String(BigInt(quote.minBuyAmount) * 2n);
      },
    },
    {
      name: "deadline",
      tell: (quote) => {
        const permit = permitOf(quote);
        if (permit !== undefined) permit.deadline = chance.pick(["0", "1", String(maxUint256)]);
      },
    },
    {
      name: "types",
      tell: ({ permit2 }) => {
        const types = permit2?.eip712.types;
        if (types === undefined) return;
        const fields = types[chance.pick(["PermitTransferFrom", "TokenPermissions"])] ?? [];
        const field = chance.pick(fields);
        chance.pick([() => fields.reverse(), () => fields.pop(), () => (field.type = "bytes32")])();
      },
    },
  ];
}

/** The settler's own call, altered. */
function alteredCallsOf(chance: Random): Lie[] {
  return alterationsOf(chance).map(({ name, alter }) => ({
    name: `settler call: ${name}`,
    tell: ({ transaction, permit2 }) => {
      if (!transaction.data.startsWith(EXECUTE)) return;
      transaction.data = alter(readCall(transaction.data, permit2 !== null));
    },
  }));
}

/** A wallet that has let Permit2, and once the provider's contract, take whatever they like. */
async function careless(app: WalletApp, chain: Chain, userId: string): Promise<Address> {
  const amounts = Object.fromEntries(SYMBOLS.map((symbol) => [symbol, 10_000n * ONE[symbol]]));
  const owner = await app.fundedWallet(userId, amounts);
  const spenders = [PERMIT2, PUPPET].map((spender) =>
    encodeFunctionData({ abi: erc20Abi, functionName: "approve", args: [spender, maxUint256 / 2n] }),
  );
  const calls = Object.values(TOKENS).flatMap((to) => spenders.map((data) => ({ to, data })));
  await beforehand(chain, owner, calls);
  return owner;
}

type Holdings = Record<Symbol, bigint> & { allowed: string };

async function holdingsOf(chain: Chain, owner: Address): Promise<Holdings> {
  const client = clientOf(chain);
  const read = (token: Address, functionName: "balanceOf" | "allowance", ...args: Address[]) =>
    functionName === "balanceOf"
      ? client.readContract({ address: token, abi: erc20Abi, functionName, args: [owner] })
      : client.readContract({
          address: token,
          abi: erc20Abi,
          functionName,
          args: [owner, args[0] ?? zeroAddress],
        });
  const [ETH, USDC, USDT, DAI, WETH] = await Promise.all([
    client.getBalance({ address: owner }),
    read(TOKENS.USDC, "balanceOf"),
    read(TOKENS.USDT, "balanceOf"),
    read(TOKENS.DAI, "balanceOf"),
    read(TOKENS.WETH, "balanceOf"),
  ]);
  const allowed = await Promise.all(
    Object.values(TOKENS).flatMap((token) =>
      [PUPPET, THIEF, SETTLER].map((spender) => read(token, "allowance", spender)),
    ),
  );
  return { ETH, USDC, USDT, DAI, WETH, allowed: allowed.join() };
}

/** What the wallet's own transactions have cost besides what they moved. */
async function feesOf(app: WalletApp, chain: Chain, userId: string): Promise<bigint> {
  let sum = 0n;
  const own = (await app.rows("orders")).filter((row) => row.userId === userId);
  for (const one of own.flatMap(({ tries }) => tries)) {
    const hash = hex.parse(one.hash);
    const receipt = await clientOf(chain)
      .getTransactionReceipt({ hash })
      .catch(() => null);
    sum += receipt === null ? 0n : receipt.gasUsed * receipt.effectiveGasPrice;
  }
  return sum;
}

/** What has left the wallet without being ordered, in words. */
function excess(order: Order, before: Holdings, after: Holdings, fees: bigint, minimum: bigint | null) {
  if (before.allowed !== after.allowed) return "an allowance changed";
  for (const symbol of SYMBOLS) {
    const gained = after[symbol] - before[symbol] + (symbol === "ETH" ? fees : 0n);
    const may = symbol === order.fromToken && minimum !== null ? -order.amount : 0n;
    if (gained < may) return `${-gained} ${symbol} left`;
    if (symbol === order.toToken && minimum !== null && gained < minimum) {
      return `${gained} ${symbol} came rather than ${minimum}`;
    }
  }
  return null;
}

/** Plays dishonest swaps over HTTP; each round belongs to its seed, and says what was found. */
export async function playDishonestSwaps(
  chain: Chain,
  { seed: first, rounds }: { seed: number; rounds: number },
): Promise<Round[]> {
  await place(chain, "Puppet", PUPPET);
  const amounts = Object.fromEntries(SYMBOLS.map((symbol) => [symbol, 1_000_000n * ONE[symbol]]));
  await chain.fund(PUPPET, amounts);
  const played: Round[] = [];
  let world: { app: WalletApp; owner: Address; userId: string } | null = null;
  for (let seed = first; seed < first + rounds; seed++) {
    if (world === null || played.length % ROUNDS_PER_WALLET === 0) {
      closeApp();
      const app = createWalletApp(chain);
      const userId = `careless-${seed}`;
      world = { app, userId, owner: await careless(app, chain, userId) };
    }
    played.push(await play(chain, world, seed));
  }
  await register(chain, SETTLER);
  return played;
}

async function play(
  chain: Chain,
  { app, owner, userId }: { app: WalletApp; owner: Address; userId: string },
  seed: number,
): Promise<Round> {
  const chance = random("dishonest swaps", seed);
  const [fromToken = "USDC", toToken = "DAI"] = chance.shuffled([...SYMBOLS]);
  const amount = (ONE[fromToken] * BigInt(chance.whole(1, 1_000))) / 1_000n;
  const order: Order = { owner, fromToken, toToken, amount };
  // The call is read before other lies have spoilt it.
  const lies = [
    ...chance.shuffled(alteredCallsOf(chance)).slice(0, chance.pick([0, 1, 1, 1])),
    ...chance.shuffled(liesOf(chance)).slice(0, chance.pick([0, 0, 1, 2])),
  ];
  let honestMinimum: bigint | null = null;
  const names = lies.map(({ name }) => name);
  const hostileToken = chance.between(0, 1) < 0.25;
  const restore = hostileToken ? await corruptDai(chain, owner, chance) : null;
  if (hostileToken) names.push("token");
  const honest = lie((quote) => {
    honestMinimum = BigInt(quote.minBuyAmount);
    for (const { tell } of lies) tell(quote, order);
  });
  try {
    const before = await holdingsOf(chain, owner);
    const feesBefore = await feesOf(app, chain, userId);
    const signedBefore = await signedSwaps(app);
    const { status, body } = await app.post("/mcp/defi/swap", {
      userId,
      fromToken,
      toToken,
      amount: amount.toString(),
      slippageBps: chance.pick([0, 30, 100, 1_000]),
    });
    const swapped = status === 200 && body.status === "confirmed";
    const after = await holdingsOf(chain, owner);
    const fees = (await feesOf(app, chain, userId)) - feesBefore;
    const minimum = swapped ? BigInt(String(body.minBuyAmount)) : null;
    const signed = (await signedSwaps(app)).slice(signedBefore.length);
    const less = signed
      .map((raw) => lessThanOrdered(raw, order, honestMinimum ?? 0n))
      .find((one) => one !== null);
    const found = [200, 400, 502].includes(status)
      ? (less ?? excess(order, before, after, fees, minimum))
      : `the answer was ${status}`;
    return { seed, lies: names, swapped, found };
  } finally {
    honest();
    await restore?.();
  }
}

/** The bytes that were signed for swaps, whether they were mined or not. */
async function signedSwaps(app: WalletApp): Promise<Hex[]> {
  const rows = await app.rows("orders");
  return rows
    .sort((one, other) => one._creationTime - other._creationTime)
    .flatMap(({ request, tries }) => (request.kind === "swap" ? tries : []))
    .flatMap(({ kind, raw }) => (kind === "call" ? [hex.parse(raw)] : []));
}

/** How a signed swap lets the chain give less than was ordered, in words; read where the settler itself reads it. */
function lessThanOrdered(raw: Hex, { owner, toToken }: Order, minimum: bigint): string | null {
  const { to, data = "0x" } = parseTransaction(raw);
  if (to?.toLowerCase() === TOKENS.WETH.toLowerCase()) return null;
  if (!data.startsWith(EXECUTE)) return `signed a call of ${data.slice(0, 10)}`;
  const { recipient, buyToken, minAmountOut } = slippageIn(data);
  if (!isAddressEqual(recipient, owner)) return `signed a swap for ${recipient}`;
  if (!isAddressEqual(buyToken, toToken === "ETH" ? NATIVE : TOKENS[toToken]))
    return `signed for ${buyToken}`;
  // The feeds may have moved between a quote and the one after its approval.
  return minAmountOut * 100n < minimum * 98n ? `signed for ${minAmountOut} rather than ${minimum}` : null;
}

/** DAI keeps a share of each transfer, or calls the puppet in the middle of it. @returns What restores it. */
async function corruptDai(chain: Chain, owner: Address, chance: Random): Promise<() => Promise<unknown>> {
  const code = await chain.rpc("eth_getCode", [TOKENS.DAI, "latest"]);
  await place(chain, "HostileToken", TOKENS.DAI);
  const token = chance.pick(Object.values(TOKENS));
  const hook = puppetRun([
    { to: token, data: call.take(owner, THIEF, ETHER) },
    { to: SETTLER, data: puppetRun([]) },
  ]);
  const calls = chance.between(0, 1) < 0.5;
  const data = encodeFunctionData({
    abi: hostileTokenAbi,
    functionName: "behave",
    args: [BigInt(chance.pick([0, 100, 5_000])), calls ? PUPPET : zeroAddress, hook],
  });
  const from = chain.accounts[9];
  const hash = hex.parse(await chain.rpc("eth_sendTransaction", [{ from, to: TOKENS.DAI, data }]));
  await until(async () => (await chain.rpc("eth_getTransactionReceipt", [hash])) !== null);
  return () => chain.rpc("anvil_setCode", [TOKENS.DAI, code]);
}
