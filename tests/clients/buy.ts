import axios from "axios";
import { createPublicClient, erc20Abi, http, isHex, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { base } from "viem/chains";
import { withPaymentInterceptor } from "x402-axios";
import { decodeXPaymentResponse, wrapFetchWithPayment } from "x402-fetch";
import { TOKENS } from "../../scripts/chain/addresses";
import type { Chain } from "../../scripts/chain/index";
import { startStack } from "../../scripts/stack/stack";

/**
 * `npm run test:clients`: the x402 version 1 clients from npm, as published, each buy a report from the local stack over
 * HTTP. Outside the suite, because what they depend on takes half a gigabyte.
 */

const PRICE = 1_000_000n;
const FUNDS = 5n * PRICE;
const ORDER = { token: "BTC" };

type Answer = { status: number; body: unknown; receipt: string };
type Buy = (url: string, account: PrivateKeyAccount) => Promise<Answer>;

const clients: Record<string, Buy> = {
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

async function main(): Promise<void> {
  const stack = await startStack({ ephemeral: true, envFile: "/dev/null" });
  try {
    const { chain, siteUrl } = stack;
    if (chain === null) throw new Error("The environment names a real chain: take CHAIN_RPC_URL out of it");
    for (const [name, buy] of Object.entries(clients)) {
      console.log(`${name}: ${await bought(chain, `${siteUrl}/agent/research/paid`, buy)}`);
    }
  } finally {
    await stack.stop();
  }
}

/** @returns The hash of the payment. @throws Error when anything is not as it should be. */
async function bought(chain: Chain, url: string, buy: Buy): Promise<Hex> {
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
  const { success, payer, transaction } = decodeXPaymentResponse(receipt);
  if (!success || payer !== account.address.toLowerCase() || !isHex(transaction)) {
    throw new Error(`Its receipt says ${receipt}`);
  }
  const mined = await client.getTransactionReceipt({ hash: transaction });
  if (mined.status !== "success") throw new Error(`${transaction} has failed`);
  return transaction;
}

await main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
