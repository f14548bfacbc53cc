import { encodeFunctionData, toHex, type Address, type Hex } from "viem";
import { mnemonicToAccount, type PrivateKeyAccount } from "viem/accounts";
import { usdcAbi } from "../../scripts/chain/abis";
import { CHAIN_ID, DEV_MNEMONIC, TOKENS } from "../../scripts/chain/addresses";

/** Payments that their payer has only signed (EIP-3009), and the x402 headers that carry them, made by hand. */

export const ONE = 1_000_000n;

export const devAccount = (addressIndex: number) => mnemonicToAccount(DEV_MNEMONIC, { addressIndex });
export const PLATFORM = devAccount(1).address;

const domain = {
  name: "USD Coin",
  version: "2",
  chainId: CHAIN_ID,
  verifyingContract: TOKENS.USDC,
} as const;
const fields = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" },
] as const;
const types = {
  TransferWithAuthorization: fields,
  ReceiveWithAuthorization: fields,
  CancelAuthorization: [
    { name: "authorizer", type: "address" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

type Terms = {
  to: Address;
  value: bigint;
  /** In seconds, as the next. */
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
  /** Who signs, where it is not the payer. */
  by: PrivateKeyAccount;
  kind: "TransferWithAuthorization" | "ReceiveWithAuthorization";
};

export const now = () => BigInt(Math.floor(Date.now() / 1_000));

/** @returns A payment of one USDC to the platform, valid for five minutes, but for the terms that are named. */
export async function authorize(from: PrivateKeyAccount, terms: Partial<Terms> = {}) {
  const message = {
    from: from.address,
    to: terms.to ?? PLATFORM,
    value: terms.value ?? ONE,
    validAfter: terms.validAfter ?? 0n,
    validBefore: terms.validBefore ?? now() + 300n,
    nonce: terms.nonce ?? toHex(crypto.getRandomValues(new Uint8Array(32))),
  };
  const primaryType = terms.kind ?? "TransferWithAuthorization";
  const signature = await (terms.by ?? from).signTypedData({ domain, types, primaryType, message });
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

/** The call that anybody who has seen an authorization can make; one to receive, its payee alone. */
export function settlementCall(
  { message, signature }: Authorized,
  functionName: "transferWithAuthorization" | "receiveWithAuthorization" = "transferWithAuthorization",
): { to: Address; data: Hex } {
  const { from, to, value, validAfter, validBefore, nonce } = message;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return { to: TOKENS.USDC, data: encodeFunctionData({ abi: usdcAbi, functionName, args }) };
}

/** The call by which a payer takes an authorization back. */
export async function cancellationCall(payer: PrivateKeyAccount, { message: { nonce } }: Authorized) {
  const message = { authorizer: payer.address, nonce };
  const signature = await payer.signTypedData({ domain, types, primaryType: "CancelAuthorization", message });
  const args = [payer.address, nonce, signature] as const;
  return {
    to: TOKENS.USDC,
    data: encodeFunctionData({ abi: usdcAbi, functionName: "cancelAuthorization", args }),
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
