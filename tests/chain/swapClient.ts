import { concat, numberToHex, size, type Address, type Hex } from "viem";
import type { PrivateKeyAccount } from "viem/accounts";
import { expect } from "vitest";
import * as z from "zod";
import type { Swap } from "../../scripts/standins/swap";

/** What a client of the swap provider does: asks for quotes, and signs them. */

export const hex = z.templateLiteral(["0x", z.string()]);
const integer = z.string().regex(/^\d+$/).transform(BigInt);
export const permitShape = z.object({
  type: z.literal("Permit2"),
  hash: hex,
  eip712: z.object({
    types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
    domain: z.object({ name: z.string(), chainId: z.number(), verifyingContract: hex }),
    message: z.looseObject({ nonce: z.string(), deadline: z.string() }),
    primaryType: z.literal("PermitTransferFrom"),
  }),
});
const quoteShape = z.looseObject({
  liquidityAvailable: z.literal(true),
  buyAmount: integer,
  minBuyAmount: integer,
  allowanceTarget: hex.nullable(),
  issues: z.looseObject({
    allowance: z.object({ actual: z.string(), spender: hex }).nullable(),
    balance: z.object({ token: hex, actual: z.string(), expected: z.string() }).nullable(),
    simulationIncomplete: z.boolean(),
  }),
  permit2: permitShape.nullable(),
  transaction: z.object({ to: hex, data: hex, gas: z.string(), gasPrice: z.string(), value: integer }),
});
export type Quote = z.infer<typeof quoteShape>;

const HEADERS = { "0x-api-key": "any", "0x-version": "v2" };

/** Asks the stand-in as a client of the API does. */
export async function ask(
  swap: Swap,
  query: Record<string, string>,
  headers: Record<string, string> = HEADERS,
): Promise<{ status: number; body: unknown }> {
  const call = { method: "GET", path: "/swap/permit2/quote", body: "" };
  const asked = { ...call, query: new URLSearchParams(query), headers: new Headers(headers) };
  const response = await swap.handle(asked);
  const body: unknown = await response.json();
  return { status: response.status, body };
}

export type Asked = { sell: Address; buy: Address; amount: bigint; extra?: Record<string, string> };

export function queryOf({ sell, buy, amount, extra = {} }: Asked): Record<string, string> {
  return { chainId: "8453", sellToken: sell, buyToken: buy, sellAmount: String(amount), ...extra };
}

/** A firm quote that is expected to come. */
export async function quote(swap: Swap, taker: Address, asked: Asked): Promise<Quote> {
  const { status, body } = await ask(swap, { ...queryOf(asked), taker });
  expect(status).toBe(200);
  return quoteShape.parse(body);
}

/** A quote with its signature appended, as a client sends it. */
export async function readyToSend({ permit2, transaction }: Quote, signer: PrivateKeyAccount) {
  const { to, value } = transaction;
  if (permit2 === null) return { to, value, data: transaction.data };
  const signature = await signer.signTypedData(permit2.eip712);
  return { to, value, data: withSignature(transaction.data, signature) };
}

export function withSignature(data: Hex, signature: Hex): Hex {
  return concat([data, numberToHex(size(signature), { size: 32 }), signature]);
}
