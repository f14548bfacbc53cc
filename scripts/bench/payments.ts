import { encodeFunctionData, erc20Abi, toHex, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import * as z from "zod";
import { CHAIN_ID, TOKENS } from "../chain/addresses";
import { createRpc, hexShape } from "../chain/rpc";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { startWalletStack, type Answer, type WalletStack } from "./walletStack";

/** Calls to the chain's RPC per paid report and per deposit. */
export const question = "How many calls to the chain do a payment proof and a deposit cost?";

const ONE = 1_000_000n;
const FUNDS = { ETH: 10n ** 18n, USDC: 10n * ONE };
const VALID_SECONDS = 300;
const POLL_MS = 50;

const detailsShape = z.object({ paymentDetails: z.object({ address: hexShape }) });

type Case = { name: string; count: number; run: () => Promise<Answer> };

export async function run(progress: Progress): Promise<Table> {
  const stack = await startWalletStack();
  try {
    const rows: string[][] = [];
    const cases = await casesOf(stack);
    for (const { name, count, run } of cases) {
      progress(name);
      stack.taken();
      const { status, body } = await run();
      if (status !== 200) throw new Error(`${name}: ${status} ${JSON.stringify(body)}`);
      const calls = stack.taken();
      const all = calls.reduce((sum, one) => sum + one.calls, 0);
      rows.push([name, figure(count), figure(calls.length), figure(all), figure(all / count, 1)]);
    }
    return {
      inputs: [
        "The local stack, over HTTP, each case once; the chain mines what is sent within 15 ms.",
        "Round trips: HTTP requests of the application to the RPC. Calls: JSON-RPC calls in them.",
        "A transaction that takes longer to be mined costs one round trip more per 300 ms (signed payments).",
      ],
      columns: ["", "payments", "round trips", "calls", "calls each"],
      rows,
      notes: [],
    };
  } finally {
    await stack.stop();
  }
}

async function casesOf(stack: WalletStack): Promise<Case[]> {
  const platform = platformOf(await stack.call("POST", "/agent/research/paid"));
  const pay = async (payer: PrivateKeyAccount) => transferred(stack, payer, platform);
  const buy = (proof: string) => stack.call("POST", "/agent/research/paid", {}, { "X-Payment": proof });
  const deposit = (hashes: readonly string[]) =>
    stack.call("POST", "/indexer/deposit", {
      event: { activity: hashes.map((hash) => ({ hash, category: "token" })) },
    });
  const payers: PrivateKeyAccount[] = [];
  for (let i = 0; i < 4; i++) payers.push(await fundedAccount(stack));
  const [first, second, third, fourth] = payers;
  if (first === undefined || second === undefined || third === undefined || fourth === undefined) {
    throw new Error("There are four payers");
  }
  const hash = await pay(first);
  const signed = await signedProof(second, platform);
  const deposited = await pay(third);
  const batch: Hex[] = [];
  for (let i = 0; i < 9; i++) batch.push(await pay(fourth));
  return [
    { name: "report for a transaction's hash", count: 1, run: () => buy(hash) },
    { name: "the same proof again", count: 1, run: () => buy(hash) },
    { name: "report for a signed payment", count: 1, run: () => buy(signed) },
    { name: "the same proof again", count: 1, run: () => buy(signed) },
    { name: "deposit", count: 1, run: () => deposit([deposited]) },
    { name: "the same deposit again", count: 1, run: () => deposit([deposited]) },
    { name: "9 deposits in one webhook", count: 9, run: () => deposit(batch) },
  ];
}

async function fundedAccount({ chain }: WalletStack): Promise<PrivateKeyAccount> {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, FUNDS);
  return account;
}

/** A mined transfer of the price to the platform. */
async function transferred({ chain }: WalletStack, from: PrivateKeyAccount, to: Hex): Promise<Hex> {
  const rpc = createRpc(chain.url);
  const nonce = Number(hexShape.parse(await rpc.call("eth_getTransactionCount", [from.address, "latest"])));
  const raw = await from.signTransaction({
    ...{ chainId: CHAIN_ID, type: "eip1559", nonce, to: TOKENS.USDC, gas: 100_000n },
    data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, ONE] }),
    ...{ maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 10n ** 9n },
  });
  const hash = hexShape.parse(await rpc.call("eth_sendRawTransaction", [raw]));
  while ((await rpc.call("eth_getTransactionReceipt", [hash])) === null) {
    await new Promise<void>((resolve) => setTimeout(resolve, POLL_MS));
  }
  return hash;
}

/** An x402 payload (version 1), as a client sends it. */
async function signedProof(from: PrivateKeyAccount, to: Hex): Promise<string> {
  const validBefore = Math.floor(Date.now() / 1_000) + VALID_SECONDS;
  const nonce = toHex(crypto.getRandomValues(new Uint8Array(32)));
  const signature = await from.signTypedData({
    domain: { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: TOKENS.USDC },
    types: {
      TransferWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "TransferWithAuthorization",
    message: {
      from: from.address,
      to,
      value: ONE,
      validAfter: 0n,
      validBefore: BigInt(validBefore),
      nonce,
    },
  });
  const terms = { from: from.address, to, value: String(ONE), validAfter: "0", nonce };
  const authorization = { ...terms, validBefore: String(validBefore) };
  const payload = { signature, authorization };
  return btoa(JSON.stringify({ x402Version: 1, scheme: "exact", network: "base", payload }));
}

function platformOf({ body }: Answer): Hex {
  return detailsShape.parse(body).paymentDetails.address;
}
