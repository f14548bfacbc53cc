import { x402Client } from "@x402/core/client";
import { decodePaymentRequiredHeader } from "@x402/core/http";
import { ExactEvmScheme } from "@x402/evm";
import { registerExactEvmScheme } from "@x402/evm/exact/client";
import {
  decodePaymentResponseHeader,
  wrapFetchWithPayment,
  wrapFetchWithPaymentFromConfig,
} from "@x402/fetch";
import type { PrivateKeyAccount } from "viem/accounts";
import { describe, expect, vi } from "vitest";
import * as z from "zod";
import { clientOf, newWallet } from "../chain/support";
import { chain, usdcOf, useChain } from "../support/chain/chain";
import { serve } from "../support/world";
import { ONE, PLATFORM, test as paidTest } from "./payer";

/** The x402 clients from npm, as published, buy over HTTP. */

useChain();

const test = paidTest.extend<{ url: string }>({
  url: async ({ app }, use) => {
    const site = await serve(app);
    vi.stubEnv("CONVEX_SITE_URL", site.url);
    await use(`${site.url}/agent/research/paid`);
    await site.close();
  },
});

/** Every request the client sends, by the proof headers it carries. */
function watched(): { inner: typeof fetch; sent: string[][] } {
  const sent: string[][] = [];
  const inner: typeof fetch = (input, init) => {
    const request = new Request(input, init);
    sent.push(["x-payment", "payment-signature"].filter((name) => request.headers.has(name)));
    return fetch(request);
  };
  return { inner, sent };
}

const order = (body: object) => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

type Wrap = (inner: typeof fetch, account: PrivateKeyAccount) => ReturnType<typeof wrapFetchWithPayment>;

const withBothSchemes: Wrap = (inner, account) => {
  const client = new x402Client();
  registerExactEvmScheme(client, { signer: account });
  return wrapFetchWithPayment(inner, client);
};
const configured: Wrap = (inner, account) =>
  wrapFetchWithPaymentFromConfig(inner, {
    schemes: [{ network: "eip155:8453", client: new ExactEvmScheme(account) }],
  });

describe("@x402/fetch", () => {
  test("with the schemes of both versions buys a report for one USDC, and two at once", async ({ url }) => {
    const account = await newWallet(chain, { USDC: 5n * ONE });
    const { inner, sent } = watched();
    const platformBefore = await usdcOf(PLATFORM);
    const pay = withBothSchemes(inner, account);
    const bought = await Promise.all(
      [account.address, "bob"].map((userId) => pay(url, order({ userId, token: "BTC" }))),
    );
    for (const response of bought) {
      expect([response.status, await response.json()]).toEqual([
        200,
        {
          success: true,
          token: "BTC",
          result: expect.objectContaining({ fullAnalysis: expect.stringContaining("Bitcoin (BTC)") }),
        },
      ]);
      const receipt = decodePaymentResponseHeader(response.headers.get("PAYMENT-RESPONSE") ?? "");
      const payer = account.address.toLowerCase();
      expect(receipt).toMatchObject({ success: true, network: "eip155:8453", payer });
      const mined = await clientOf(chain).getTransactionReceipt({ hash: hex(receipt.transaction) });
      expect(mined.status).toBe("success");
    }
    expect(sent.flat()).toEqual(["payment-signature", "payment-signature"]);
    expect(sent).toHaveLength(4);
    const moved = (await usdcOf(PLATFORM)) - platformBefore;
    expect([await usdcOf(account.address), moved]).toEqual([3n * ONE, 2n * ONE]);
  });

  test("configured in one call is all that an agent needs to find the report and buy it", async ({ url }) => {
    // It knows the address alone. The 402 says how the endpoint is called, and what it costs.
    const found = await fetch(url);
    const offer = found.headers.get("payment-required") ?? "";
    const { resource, accepts, extensions } = decodePaymentRequiredHeader(offer);
    const { input } = catalogued.parse(extensions?.["bazaar"]).info;
    const [terms] = accepts;
    expect([found.status, input.method, terms?.amount]).toEqual([402, "POST", ONE.toString()]);
    const account = await newWallet(chain, { USDC: ONE });
    const bought = await configured(fetch, account)(resource.url, order(input.body));
    const report = sold.parse(await bought.json());
    expect([report.token, report.result.fullAnalysis]).toEqual([
      "BTC",
      expect.stringContaining("Bitcoin (BTC)"),
    ]);
    expect([bought.status, await usdcOf(account.address)]).toEqual([200, 0n]);
  });

  test("of a payer without money is told so, once, and nothing moves", async ({ url }) => {
    const account = await newWallet(chain, { USDC: ONE - 1n });
    const { inner, sent } = watched();
    for (const wrap of [withBothSchemes, configured]) {
      const response = await wrap(inner, account)(url, order({}));
      expect([response.status, await response.json()]).toMatchObject([402, { reason: "insufficient_funds" }]);
    }
    expect(sent).toEqual([[], ["payment-signature"], [], ["payment-signature"]]);
    expect(await usdcOf(account.address)).toBe(ONE - 1n);
  });
});

const catalogued = z.object({
  info: z.object({ input: z.object({ method: z.string(), body: z.object({ token: z.string() }) }) }),
});
const sold = z.object({ token: z.string(), result: z.object({ fullAnalysis: z.string() }) });

function hex(text: string): `0x${string}` {
  return `0x${text.replace(/^0x/, "")}`;
}
