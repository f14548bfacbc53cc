import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import axios from "axios";
import { createPublicClient, erc20Abi, http, isHex, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { base } from "viem/chains";
import { withPaymentInterceptor } from "x402-axios";
import { wrapFetchWithPayment } from "x402-fetch";
import * as z from "zod";
import { TOKENS } from "../../scripts/chain/addresses";
import type { Chain } from "../../scripts/chain/index";

/** The x402 clients from npm, as published, each buy a report over HTTP. */

const PRICE = 1_000_000n;
const FUNDS = 5n * PRICE;
const ORDER = { token: "BTC" };

type Answer = { status: number; body: unknown; receipt: string };
type Buy = (url: string, account: PrivateKeyAccount) => Promise<Answer>;

export const payingClients: Record<string, Buy> = {
  "@x402/fetch 2.27.0": async (url, account) => {
    const schemes = [{ network: "eip155:8453", client: new ExactEvmScheme(account) }] as const;
    const response = await wrapFetchWithPaymentFromConfig(fetch, { schemes: [...schemes] })(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(ORDER),
    });
    const receipt = response.headers.get("payment-response") ?? "";
    return { status: response.status, body: await response.json(), receipt };
  },
  "x402-fetch 1.2.0": async (url, account) => {
    // Without a cap of its own this client pays 0.10 USDC at most.
    const pay = wrapFetchWithPayment(fetch, account, PRICE);
    const response = await pay(url, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(ORDER),
    });
    const receipt = response.headers.get("x-payment-response") ?? "";
    return { status: response.status, body: await response.json(), receipt };
  },
  "x402-axios 0.7.2": async (url, account) => {
    const pay = withPaymentInterceptor(axios.create(), account);
    const response = await pay.post<unknown>(url, ORDER);
    return {
      status: response.status,
      body: response.data,
      receipt: String(response.headers["x-payment-response"]),
    };
  },
};

/** @returns The hash of the payment. @throws Error when anything is not as it should be. */
export async function bought(chain: Chain, url: string, buy: Buy): Promise<Hex> {
  const account = privateKeyToAccount(generatePrivateKey());
  await chain.fund(account.address, { USDC: FUNDS });
  const { status, body, receipt } = await buy(url, account);
  const text = JSON.stringify(body);
  if (status !== 200 || !text.includes('"fullAnalysis":"')) throw new Error(`It answered ${status} ${text}`);
  const client = createPublicClient({ chain: base, transport: http(chain.url) });
  const left = await client.readContract({
    address: TOKENS.USDC,
    abi: erc20Abi,
    functionName: "balanceOf",
    args: [account.address],
  });
  if (FUNDS - left !== PRICE) throw new Error(`It has paid ${FUNDS - left} units of USDC`);
  const { success, payer, transaction } = receiptShape.parse(JSON.parse(atob(receipt)));
  if (!success || payer !== account.address.toLowerCase() || !isHex(transaction)) {
    throw new Error(`Its receipt says ${receipt}`);
  }
  const mined = await client.getTransactionReceipt({ hash: transaction });
  if (mined.status !== "success") throw new Error(`${transaction} has failed`);
  return transaction;
}

const receiptShape = z.object({ success: z.boolean(), payer: z.string(), transaction: z.string() });
