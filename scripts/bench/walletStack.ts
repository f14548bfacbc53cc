import type { Address } from "viem";
import * as z from "zod";
import type { Amounts, Chain } from "../chain/index";
import { hexShape } from "../chain/rpc";
import { real } from "../real";
import { startStack } from "../stack/stack";

/** The local stack for the bench's questions about wallets, its calls to the outside counted where it makes them. */

/** One round trip of the application's. */
export type OutsideCall = {
  to: "chain" | "swap provider";
  /** Of a JSON-RPC batch; one for any other call. */
  calls: number;
  /** Hands out signed bytes. */
  sends: boolean;
  /** The transactions whose receipts it asks for. */
  receiptsOf: readonly string[];
  /** From the start of the call to its answer, and when that came (`performance.now`). */
  ms: number;
  answeredAt: number;
};

export type Answer = { status: number; body: Record<string, unknown> };

export type WalletStack = {
  siteUrl: string;
  chain: Chain;
  /** Calls an endpoint over HTTP. */
  call: (
    method: "GET" | "POST",
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  /** A new custody wallet of `userId`, with money in it; each is made by a caller with an address of its own. */
  fundedWallet: (userId: string, amounts: Amounts) => Promise<Address>;
  /** The calls to the outside since it was last asked, in the order of their answers. */
  taken: () => OutsideCall[];
  stop: () => Promise<void>;
};

const rpcRequest = z.object({ method: z.string(), params: z.array(z.unknown()).default([]) });
const rpcBody = z.union([z.array(rpcRequest), rpcRequest.transform((one) => [one])]);
const jsonObject = z.record(z.string(), z.unknown());

/** @throws Error where the environment names a real provider. */
export async function startWalletStack(): Promise<WalletStack> {
  const { siteUrl, providersUrl, chain, realProviders, stop } = await startStack({ ephemeral: true });
  if (chain === null || realProviders.length > 0) {
    await stop();
    throw new Error(
      `The bench calls no real provider: take the variables of ${realProviders.join(", ")} away.`,
    );
  }
  const urls = { chainUrl: chain.url, swapUrl: `${providersUrl}/swap-api/` };
  let noted: Noted[] = [];
  let made = 0;
  // The stack's own calls do not go through the global. What was asked is read when nothing is being measured any more.
  globalThis.fetch = async (input, init) => {
    const startedAt = performance.now();
    try {
      return await real.fetch(input, init);
    } finally {
      const url = input instanceof Request ? input.url : String(input);
      noted.push({ url, init, startedAt, answeredAt: performance.now() });
    }
  };
  const call: WalletStack["call"] = async (method, path, body, headers = {}) => {
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await real.fetch(siteUrl + path, init);
    return { status: response.status, body: jsonObject.parse(await response.json()) };
  };
  return {
    siteUrl,
    chain,
    call,
    fundedWallet: async (userId, amounts) => {
      made += 1;
      const from = { "X-Forwarded-For": `10.1.${made >> 8}.${made & 255}` };
      const { body } = await call("POST", "/mcp/defi/connect", { userId }, from);
      const address = hexShape.parse(body.address);
      await chain.fund(address, amounts);
      return address;
    },
    taken: () => {
      const before = noted;
      noted = [];
      return before.flatMap(({ url, init, startedAt, answeredAt }) => {
        const asked = askedBy(url, init, urls);
        return asked === null ? [] : [{ ...asked, ms: answeredAt - startedAt, answeredAt }];
      });
    },
    stop: async () => {
      globalThis.fetch = real.fetch;
      await stop();
    },
  };
}

type Noted = { url: string; init: RequestInit | undefined; startedAt: number; answeredAt: number };
type Urls = { chainUrl: string; swapUrl: string };

function askedBy(
  url: string,
  init: RequestInit | undefined,
  { chainUrl, swapUrl }: Urls,
): Omit<OutsideCall, "ms" | "answeredAt"> | null {
  if (url.startsWith(swapUrl)) return { to: "swap provider", calls: 1, sends: false, receiptsOf: [] };
  if (!url.startsWith(chainUrl)) return null;
  const requests = rpcBody.parse(JSON.parse(z.string().parse(init?.body)));
  return {
    to: "chain",
    calls: requests.length,
    sends: requests.some(({ method }) => method === "eth_sendRawTransaction"),
    receiptsOf: requests.flatMap(({ method, params }) =>
      method === "eth_getTransactionReceipt" ? [String(params[0])] : [],
    ),
  };
}
