import { concatHex, encodeFunctionData, erc20Abi, toHex, type Address, type Hex } from "viem";
import {
  generatePrivateKey,
  mnemonicToAccount,
  privateKeyToAccount,
  type PrivateKeyAccount,
} from "viem/accounts";
import type { Chain } from "../../scripts/stack/chain";
import { usdcAbi } from "../../scripts/stack/chain/abis";
import { DEV_MNEMONIC, TOKENS } from "../../scripts/stack/chain/addresses";
import { newWallet, send } from "../chain/support";
import { chain, test as chainTest } from "../support/chain";
import { createWalletApp, type WalletApp } from "../support/walletApp";
import type { WorldOptions } from "../support/world";
import type { CallInit } from "../support/world";

/** Paying for reports on the local chain: by transfers, and by x402 payloads made by hand. */

export const ONE = 1_000_000n;
const PATH = "/agent/research/paid";

const account = (addressIndex: number) => mnemonicToAccount(DEV_MNEMONIC, { addressIndex });
export const PLATFORM = account(1).address;
export const RELAYER = account(2).address;
const relayerKey = toHex(account(2).getHdKey().privateKey ?? new Uint8Array());

export function createPaidApp(chain: Chain, options: WorldOptions = {}): WalletApp {
  const env = { PLATFORM_WALLET_ADDRESS: PLATFORM, X402_RELAYER_PRIVATE_KEY: relayerKey, ...options.env };
  return createWalletApp(chain, { ...options, env });
}

/** The relayer's latest transaction that carries out a payment, with the bytes it has by now. */
export async function settlementOf(app: WalletApp) {
  const row = (await app.rows("transactions")).filter(({ request }) => request.kind === "settlement").at(-1);
  if (row === undefined) return undefined;
  const { address, nonce, txHash, rawTransaction, replacement } = row;
  if (nonce === undefined || txHash === undefined || rawTransaction === undefined)
    throw new Error("A settlement is stored signed");
  return {
    row,
    relayer: address,
    nonce,
    txHash: replacement?.txHash ?? txHash,
    rawTransaction: replacement?.rawTransaction ?? rawTransaction,
    outpriced: replacement === undefined ? [] : [txHash, ...replacement.outpriced.map((one) => one.txHash)],
  };
}

/** Tests that get such an `app` on their file's chain when they ask for one. */
export const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ settings }, use) => use(createPaidApp(chain, settings)),
});

export function payer(chain: Chain, usdc = 5n * ONE): Promise<PrivateKeyAccount> {
  return newWallet(chain, { USDC: usdc });
}

export function stranger(): PrivateKeyAccount {
  return privateKeyToAccount(generatePrivateKey());
}

/** Sends USDC (or another token) and returns the mined transaction's hash. */
export async function transfer(
  chain: Chain,
  from: PrivateKeyAccount,
  { to = PLATFORM, value = ONE, token = TOKENS.USDC, suffix = "0x" }: Partial<Transfer> = {},
): Promise<Hex> {
  const call = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, value] });
  const receipt = await send(chain, from, { to: token, data: concatHex([call, suffix]) });
  return receipt.transactionHash;
}
type Transfer = { to: Address; value: bigint; token: Address; suffix: Hex };

const domain = { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: TOKENS.USDC } as const;
const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

type Terms = {
  to: Address;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
  by: PrivateKeyAccount;
};

export const now = () => BigInt(Math.floor(Date.now() / 1_000));

export async function authorize(from: PrivateKeyAccount, terms: Partial<Terms> = {}) {
  const message = {
    from: from.address,
    to: terms.to ?? PLATFORM,
    value: terms.value ?? ONE,
    validAfter: terms.validAfter ?? 0n,
    validBefore: terms.validBefore ?? now() + 300n,
    nonce: terms.nonce ?? toHex(crypto.getRandomValues(new Uint8Array(32))),
  };
  const signature = await (terms.by ?? from).signTypedData({
    domain,
    types,
    primaryType: "TransferWithAuthorization",
    message,
  });
  const { value, validAfter, validBefore, ...rest } = message;
  const authorization = {
    ...rest,
    value: value.toString(),
    validAfter: validAfter.toString(),
    validBefore: validBefore.toString(),
  };
  return { message, signature, payload: { signature, authorization } };
}
export type Authorized = Awaited<ReturnType<typeof authorize>>;

/** The call that anybody who has seen an authorization can make. */
export function settlementCall({ message, signature }: Authorized): { to: Address; data: Hex } {
  const { from, to, value, validAfter, validBefore, nonce } = message;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return {
    to: TOKENS.USDC,
    data: encodeFunctionData({ abi: usdcAbi, functionName: "transferWithAuthorization", args }),
  };
}

export const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64");

export const versionOne = ({ payload }: Authorized, changes: object = {}) => ({
  "X-PAYMENT": base64({ x402Version: 1, scheme: "exact", network: "base", payload, ...changes }),
});

export const versionTwo = ({ payload }: Authorized) => ({
  "PAYMENT-SIGNATURE": base64({
    x402Version: 2,
    payload,
    resource: { url: "https://some.where/agent/research/paid" },
    accepted: { scheme: "exact", network: "eip155:8453", amount: "1", asset: "0x00", payTo: "0x00" },
  }),
});

export function buy(app: WalletApp, headers: Record<string, string>, body: object = {}, init: CallInit = {}) {
  return app.post(PATH, body, { ...init, headers });
}

export const buyWith = (app: WalletApp, proof: string, body: object = {}) =>
  buy(app, { "X-PAYMENT": proof }, body);

/** What a base64 header says. */
export function headerOf(answer: { headers: Headers }, name: string): unknown {
  const text = answer.headers.get(name);
  return text === null ? null : JSON.parse(Buffer.from(text, "base64").toString());
}

/** How often the gateway was asked to write a report. */
export const writings = (app: WalletApp) =>
  app.standins.sent("llm").filter(({ schema }) => schema === "research_result").length;
