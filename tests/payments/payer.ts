import { concatHex, toHex, type Address, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { expect } from "vitest";
import * as z from "zod";
import type { Chain } from "../../scripts/chain";
import { TOKENS } from "../../scripts/chain/addresses";
import { newWallet, send, transferTo } from "../chain/support";
import { chain, test as chainTest, usdcOf } from "../support/chain/chain";
import { eventually } from "../support/waits";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import type { CallInit, WorldOptions } from "../support/world";
import { devAccount, ONE, PLATFORM } from "./authorizations";

/** Paying for reports on the local chain: by transfers, and by payments that are only signed. */

export * from "./authorizations";

const PATH = "/agent/research/paid";

const relayerKey = toHex(devAccount(2).getHdKey().privateKey ?? new Uint8Array());
export const relayer = privateKeyToAccount(relayerKey);

export function createPaidApp(chain: Chain, options: WorldOptions = {}): WalletApp {
  const env = {
    PLATFORM_WALLET_ADDRESS: PLATFORM,
    X402_RELAYER_PRIVATE_KEY: relayerKey,
    CONFIRMATIONS: "1",
    DEPOSITS_FROM_BLOCK: "1",
    ...options.env,
  };
  return createWalletApp(chain, { ...options, env });
}

/** The relayer's latest transaction that carries out a payment, with the bytes it has by now. */
async function settlementOf(app: WalletApp) {
  const row = (await app.rows("orders")).filter(({ request }) => request.kind === "settlement").at(-1);
  if (row === undefined) return undefined;
  const last = row.tries.at(-1);
  return last === undefined ? undefined : { row, relayer: row.address, nonce: last.nonce, txHash: last.hash };
}

/** Waits until the node has a settlement other than `earlier`. */
export const handedOut = (app: WalletApp, earlier?: string) =>
  eventually(async () => {
    const settlement = await settlementOf(app);
    if (settlement === undefined || settlement.txHash === earlier) return null;
    const isKnown = (await chain.rpc("eth_getTransactionByHash", [settlement.txHash])) !== null;
    return isKnown ? settlement : null;
  });

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
  const data = concatHex([transferTo(to, value), suffix]);
  const receipt = await send(chain, from, { to: token, data });
  return receipt.transactionHash;
}
type Transfer = { to: Address; value: bigint; token: Address; suffix: Hex };

const facilitatorShape = z.object({
  x402Version: z.literal(1),
  paymentPayload: z.object({ scheme: z.literal("exact"), network: z.literal("base") }),
  paymentRequirements: z.object({ payTo: z.literal(PLATFORM), maxAmountRequired: z.literal("1000000") }),
});

/** A service without a relayer, whose facilitator is asked as it is to be and answers this. */
export function withFacilitator(settle: () => Promise<Response>): WalletApp {
  const facilitator = "http://facilitator.test";
  const env = { X402_RELAYER_PRIVATE_KEY: "", X402_FACILITATOR_URL: facilitator };
  const app = createPaidApp(chain, { env });
  intercept(({ url, body }, pass) => {
    if (url !== `${facilitator}/settle`) return pass();
    facilitatorShape.parse(JSON.parse(body));
    return settle();
  });
  return app;
}

/** How much the platform has received while something was done. */
export async function received(work: () => Promise<void>): Promise<bigint> {
  const before = await usdcOf(PLATFORM);
  await work();
  return (await usdcOf(PLATFORM)) - before;
}

export function buy(app: WalletApp, headers: Record<string, string>, body: object = {}, init: CallInit = {}) {
  return app.post(PATH, body, { ...init, headers });
}

export const buyWith = (app: WalletApp, proof: string, body: object = {}, init: CallInit = {}) =>
  buy(app, { "X-PAYMENT": proof }, body, init);

/** The error of a report that is paid and not there: it names the payment. */
export const owing = (why: string): unknown =>
  expect.stringMatching(
    new RegExp(`^${why}\\. Your payment 0x[0-9a-f]{64} is kept: send the same proof again$`),
  );

/** What a base64 header says. */
export function headerOf(answer: { headers: Headers }, name: string): unknown {
  const text = answer.headers.get(name);
  return text === null ? null : JSON.parse(Buffer.from(text, "base64").toString());
}

/** How often the gateway was asked to write a report. */
export const writings = (app: WalletApp) =>
  app.standins.sent("llm").filter(({ schema }) => schema === "research_result").length;

/** Time goes by for the reports that were given. */
export async function aged(app: WalletApp, ms: number): Promise<void> {
  await app.t.run(async (ctx) => {
    for (const { _id, answeredAt } of await ctx.db.query("paymentClaims").collect())
      if (answeredAt !== undefined) await ctx.db.patch("paymentClaims", _id, { answeredAt: answeredAt - ms });
  });
}
