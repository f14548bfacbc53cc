import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recoverTypedDataAddress, type Hex } from "viem";
import { describe, expect } from "vitest";
import * as z from "zod";
import { chain, useChain } from "../support/chain/chain";
import { ranHere } from "../support/commands";
import {
  authorize,
  base64,
  buy,
  buyWith,
  createPaidApp,
  headerOf,
  payer,
  PLATFORM,
  RELAYER,
  stranger,
  test,
  transfer,
  versionTwo,
} from "./payer";

/** What the service signs of a purchase (x402's `offer-receipt`), by the types of the published library. */

useChain();

const PATH = "/agent/research/paid";
const BTC = { token: "BTC" };

const of = (...named: string[]) =>
  named.map((one) => {
    const [name = "", type = "string"] = one.split(":");
    return { name, type };
  });
const TYPES = {
  Offer: of(
    ...["version:uint256", "resourceUrl", "scheme", "network", "asset", "payTo", "amount"],
    "validUntil:uint256",
  ),
  Receipt: of("version:uint256", "network", "resourceUrl", "payer", "issuedAt:uint256", "transaction"),
};

const signed = z.object({
  format: z.literal("eip712"),
  payload: z.looseObject({ version: z.literal(1), resourceUrl: z.string() }),
  signature: z.custom<Hex>((value) => /^0x[0-9a-f]{130}$/.test(String(value))),
});
const carrying = <Info extends z.ZodType>(info: Info) =>
  z.looseObject({ extensions: z.looseObject({ "offer-receipt": z.looseObject({ info }) }) });
const challenge = carrying(z.object({ offers: z.tuple([signed.extend({ acceptIndex: z.literal(0) })]) }));
const response = carrying(z.object({ receipt: signed }));

type Answer = Awaited<ReturnType<typeof buy>>;
const offerOf = (answer: Answer) =>
  challenge.parse(headerOf(answer, "payment-required")).extensions["offer-receipt"].info.offers[0];
const receiptOf = (answer: Answer, name = "payment-response") =>
  response.parse(headerOf(answer, name)).extensions["offer-receipt"].info.receipt;

/** Who has signed it. */
function signerOf(
  primaryType: "Offer" | "Receipt",
  { payload: message, signature }: z.output<typeof signed>,
): Promise<string> {
  const domain = { name: `x402 ${primaryType.toLowerCase()}`, version: "1", chainId: 1 };
  return recoverTypedDataAddress({ domain, types: TYPES, primaryType, message, signature });
}

describe("a purchase", () => {
  test("is offered signed: the terms of the 402, the same for a day, which a row keeps", async ({ app }) => {
    const answer = await app.get(PATH);
    const offer = offerOf(answer);
    expect(await signerOf("Offer", offer)).toBe(RELAYER);
    const { accepts, resource } = z
      .looseObject({ accepts: z.tuple([z.looseObject({ asset: z.string() })]), resource: z.looseObject({}) })
      .parse(headerOf(answer, "payment-required"));
    const until = Number(offer.payload["validUntil"]) - Date.now() / 1_000;
    expect([until > 86_400, until <= 2 * 86_400]).toEqual([true, true]);
    expect(offer.payload).toEqual({
      ...{ version: 1, resourceUrl: resource["url"], scheme: "exact", network: "eip155:8453" },
      ...{ asset: accepts[0].asset, payTo: PLATFORM, amount: "1000000", validUntil: expect.any(Number) },
    });
    expect(offerOf(await app.post(PATH))).toEqual(offer);
    expect(await app.rows("paymentOffers")).toMatchObject([{ signature: offer.signature }]);
    expect(answer.headers.get("payment-required")?.length).toBeLessThan(4_096);
  });

  test("that is delivered has a signed receipt, the same whenever it is given; a refusal and trouble have none", async ({
    app,
  }) => {
    const from = await payer(chain);
    const proof = versionTwo(await authorize(from));
    app.standins.fail("llm", { mode: "status", status: 500 });
    const trouble = await buy(app, proof, BTC);
    expect([trouble.status, headerOf(trouble, "payment-response")]).toEqual([
      502,
      {
        ...{ success: true, payer: from.address.toLowerCase(), network: "eip155:8453" },
        transaction: expect.any(String),
      },
    ]);
    app.standins.clear("llm");
    const bought = await buy(app, proof, BTC);
    const receipt = receiptOf(bought);
    expect([bought.status, await signerOf("Receipt", receipt)]).toEqual([200, RELAYER]);
    const [claim] = await app.rows("paymentClaims");
    expect(receipt.payload).toEqual({
      ...{
        version: 1,
        network: "eip155:8453",
        resourceUrl: offerOf(await app.get(PATH)).payload.resourceUrl,
      },
      ...{ payer: from.address.toLowerCase(), transaction: claim?.txHash },
      issuedAt: Math.floor((claim?.report?.generatedAt ?? 0) / 1_000),
    });
    expect(receiptOf(bought, "x-payment-response")).toEqual(receipt);
    expect(receiptOf(await buy(app, proof, BTC))).toEqual(receipt);
    const refused = await buy(app, versionTwo(await authorize(stranger())), BTC);
    expect([refused.status, headerOf(refused, "payment-response")]).toMatchObject([402, { success: false }]);
    expect(JSON.stringify(headerOf(refused, "payment-response"))).not.toContain("offer-receipt");
  });

  test("is neither offered signed nor receipted without a key to sign with, and goes on", async () => {
    const app = createPaidApp(chain, {
      env: { X402_RELAYER_PRIVATE_KEY: "", X402_FACILITATOR_URL: "http://facilitator.test" },
    });
    const without = (answer: Answer, name: string) => {
      const header = JSON.stringify(headerOf(answer, name));
      expect(header).toContain("eip155:8453");
      expect(header).not.toContain("offer-receipt");
    };
    without(await app.get(PATH), "payment-required");
    const bought = await buyWith(app, await transfer(chain, await payer(chain)), BTC);
    expect(bought.status).toBe(200);
    without(bought, "payment-response");
    expect(await app.rows("paymentOffers")).toEqual([]);
  });
});

describe("npm run verify-receipt", () => {
  test("holds a receipt against its offer, its signer and its payer, without asking anybody", async ({
    app,
  }) => {
    const from = await payer(chain);
    const offer = (await app.get(PATH)).headers.get("payment-required") ?? "";
    const bought = await buy(app, versionTwo(await authorize(from)), BTC);
    const receipt = bought.headers.get("payment-response") ?? "";
    const verify = (...args: string[]) => ranHere("scripts/verifyReceipt.ts", args);
    const held = await verify(receipt, "--offer", offer, "--signer", RELAYER, "--payer", from.address);
    expect([held.code, held.stderr]).toEqual([0, ""]);
    expect(held.stdout).toContain(`${from.address.toLowerCase()} has paid for a report`);
    const asJson = await verify(receipt, "--signer", RELAYER, "--json");
    expect(JSON.parse(asJson.stdout)).toMatchObject({ holds: true, signer: RELAYER, problems: [] });

    const told = z.looseObject({}).parse(headerOf(bought, "payment-response"));
    const changed = (change: object) => {
      const { payload, ...rest } = receiptOf(bought);
      const info = { receipt: { ...rest, payload: { ...payload, ...change } } };
      return base64({ ...told, ...change, extensions: { "offer-receipt": { info } } });
    };
    const { signature: _, ...rest } = receiptOf(bought);
    const info = { receipt: { ...rest, signature: "0x" } };
    const unsigned = base64({ ...told, extensions: { "offer-receipt": { info } } });
    const asked = z
      .looseObject({ accepts: z.tuple([z.looseObject({})]) })
      .parse(headerOf(await app.get(PATH), "payment-required"));
    const [term] = asked.accepts;
    // As curl shows it, as it says it, and that of version 1.
    const shown = join(tmpdir(), `receipt-${crypto.randomUUID()}`);
    await writeFile(shown, `Payment-Response: ${receipt}\r\n`);
    for (const one of [shown, JSON.stringify(told), bought.headers.get("x-payment-response") ?? ""])
      expect((await verify(one, "--offer", offer)).stdout).toContain("Offered for 1 USDC to 0x");
    await rm(shown);
    for (const [args, problem] of [
      [[receipt, "--signer", from.address], "was signed by"],
      [[receipt, "--signer", RELAYER, "--payer", PLATFORM], "names the payer"],
      [[changed({ payer: PLATFORM.toLowerCase() }), "--offer", offer], "The offer was signed by"],
      [[changed({ transaction: `0x${"1".repeat(64)}` }), "--signer", RELAYER], "was signed by"],
      [[base64({ ...told, transaction: "0x" }), "--signer", RELAYER], "another transaction"],
      [[base64({ ...told, network: "eip155:1" }), "--signer", RELAYER], "another network"],
      [[base64({ ...told, success: false }), "--signer", RELAYER], "says that the payment failed"],
      [[unsigned, "--signer", RELAYER], "was signed by nobody"],
      [
        [receipt, "--offer", base64({ ...asked, accepts: [{ ...term, amount: "1" }] })],
        "asks for something else",
      ],
    ] as const) {
      const { code, stdout } = await verify(...args);
      expect([code, stdout]).toEqual([1, expect.stringContaining(problem)]);
    }
    for (const [args, problem] of [
      [[receipt], "Say who has to have signed it"],
      [["no such file", "--signer", RELAYER], "There is no file"],
      [[offer, "--signer", RELAYER], "not a header with a signed receipt"],
    ] as const) {
      const { code, stderr } = await verify(...args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
    }
  });
});
