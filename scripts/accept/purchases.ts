import {
  createPublicClient,
  createWalletClient,
  erc20Abi,
  http,
  parseEther,
  type Address,
  type Hex,
} from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";
import * as z from "zod";
import { require, same, Skipped, type Row } from "./row";
import type { Service } from "./service";
import { address, order, paymentTerms, portfolio, researchResult } from "./shapes";

/** The contract's rows that move money: of the payer with the given key, and of a wallet that it funds. */

const USDC: Address = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const ONE_USDC = 1_000_000n;
/** What the tried wallet gets: three USDC, and ether for its fees. */
const FUNDING = { usdc: 3n * ONE_USDC, ether: parseEther("0.002") };

const paidReport = z.object({ success: z.literal(true), result: researchResult, token: z.string() });
const deposits = z.object({ success: z.literal(true), credited: z.array(z.object({ txHash: z.string() })) });
const connected = z.object({ address });

export function spendingRows(service: Service, userId: string, key: Hex, rpcUrl: string): Row[] {
  const { get, post } = service;
  const account = privateKeyToAccount(key);
  const transport = http(rpcUrl);
  const chain = createPublicClient({ chain: base, transport });
  const payer = createWalletClient({ account, chain: base, transport });
  const mined = async (hash: Hex): Promise<Hex> => {
    const { status } = await chain.waitForTransactionReceipt({ hash });
    require(status === "success", `${hash} was reverted`);
    return hash;
  };
  const payUsdc = (to: Address, units: bigint) =>
    payer
      .writeContract({ address: USDC, abi: erc20Abi, functionName: "transfer", args: [to, units] })
      .then(mined);
  const usdcOf = async () => {
    const { balances } = (await get("/mcp/defi/portfolio", { userId })).as(portfolio);
    return Number(balances.find(({ token }) => token === "USDC")?.balance ?? "0");
  };

  return [
    {
      says: "A paid report is sold once for one USDC, verified on chain",
      look: async () => {
        const ordered = { userId, token: "ETH" };
        const { paymentDetails } = (await post("/agent/research/paid", ordered)).as(paymentTerms, 402);
        const proof = { "X-Payment": await payUsdc(addressOf(paymentDetails.address), ONE_USDC) };
        same("token", (await post("/agent/research/paid", ordered, proof)).as(paidReport).token, "ETH");
        const other = await post("/agent/research/paid", { userId, token: "BTC" }, proof);
        require(other.status !== 200, "One payment bought two reports");
      },
    },
    {
      says: "A funded wallet swaps and sends, and its portfolio shows it",
      look: async () => {
        const wallet = addressOf((await post("/mcp/defi/connect", { userId })).as(connected).address);
        await mined(await payer.sendTransaction({ to: wallet, value: FUNDING.ether }));
        await payUsdc(wallet, FUNDING.usdc);
        const before = await usdcOf();
        const swap = { userId, fromToken: "USDC", toToken: "ETH", amount: String(ONE_USDC) };
        (await post("/mcp/defi/swap", swap)).as(order);
        const send = { userId, toAddress: account.address, token: "USDC", amount: String(ONE_USDC) };
        (await post("/mcp/defi/send", send)).as(order);
        same("USDC left of it", Math.round((before - (await usdcOf())) * 1e6) / 1e6, 2);
      },
    },
    {
      says: "A transfer to the platform wallet credits its sender, once",
      look: async () => {
        const { paymentDetails } = (await post("/agent/research/paid", {})).as(paymentTerms, 402);
        const send = { userId, toAddress: paymentDetails.address, token: "USDC", amount: String(ONE_USDC) };
        const { txHash } = (await post("/mcp/defi/send", send)).as(order);
        const webhook = await post("/indexer/deposit", { txHash });
        if (webhook.status === 401) throw new Skipped("the webhook accepts only signed calls");
        const [credit, ...more] = webhook.as(deposits).credited;
        require(credit !== undefined && more.length === 0, `It was not credited once: ${webhook.text}`);
        same(
          "the answer to a repeated call",
          (await post("/indexer/deposit", { txHash })).text,
          webhook.text,
        );
      },
    },
  ];
}

function addressOf(text: string): Address {
  return address.transform((hex): Address => `0x${hex.slice(2)}`).parse(text);
}
