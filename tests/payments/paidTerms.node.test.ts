import { Ajv2020 } from "ajv/dist/2020";
import { describe, expect } from "vitest";
import * as z from "zod";
import { chain, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { buy, createPaidApp, headerOf, payer, test, transfer } from "./payer";

/** What there is to buy, told to whoever only looks. */

useChain();

const PATH = "/agent/research/paid";
const extension = z.object({ info: z.looseObject({}), schema: z.looseObject({}) });
const challenge = z.looseObject({
  extensions: z.object({ bazaar: extension }),
});

const asked = (app: WalletApp) => app.standins.sent("llm").length;

describe("whoever looks without paying", () => {
  test("is told the terms by GET and HEAD as by POST, whatever they send, and nothing is claimed or begun", async ({
    app,
  }) => {
    const posted = await app.post(PATH);
    const hash = await transfer(chain, await payer(chain));
    for (const [method, query, headers] of [
      ["GET", "", {}],
      ["GET", "?token=BTC", {}],
      ["GET", "?token=%00", {}],
      ["HEAD", "", {}],
      ["GET", "", { "X-Payment": hash }],
    ] as const) {
      const answer = await app.call(method, PATH + query, { headers });
      expect([method, answer.status]).toEqual([method, 402]);
      expect(headerOf(answer, "payment-required")).toEqual(headerOf(posted, "payment-required"));
      if (method === "GET") expect(answer.body).toEqual(posted.body);
    }
    expect([await app.rows("paymentClaims"), asked(app)]).toEqual([[], 0]);
    const bought = await buy(app, { "X-Payment": hash }, { token: "BTC" });
    expect(bought.status).toBe(200);
  });

  test("finds the endpoint described for catalogues: each extension's info fits its schema, and all of it a header", async ({
    app,
  }) => {
    const answer = await app.get(PATH);
    const { extensions } = challenge.parse(headerOf(answer, "payment-required"));
    const ajv = new Ajv2020();
    for (const [name, { info, schema }] of Object.entries(extensions))
      expect([name, ajv.validate(schema, info)]).toEqual([name, true]);
    expect(extensions.bazaar.info).toMatchObject({
      input: { type: "http", method: "POST", bodyType: "json", body: { token: "BTC" } },
    });
    expect(ajv.validate(extensions.bazaar.schema, { input: { type: "http", method: "GET" } })).toBe(false);
    // Clients send it back beside their payment, in one header.
    expect(answer.headers.get("payment-required")?.length).toBeLessThan(1_500);
  });

  test("is told by the free report's endpoint that one can be bought", async ({ app }) => {
    expect((await app.get("/mcp/research/report?token=BTC")).body["error"]).toMatch(
      /^There is no research report on BTC yet\. .*both are free\. One of your own can be bought for 1\.00 USDC on Base: POST \S+\/agent\/research\/paid$/,
    );
  });

  test("is 500 where there is nothing to sell with", async () => {
    const app = createPaidApp(chain, { env: { PLATFORM_WALLET_ADDRESS: "" } });
    expect((await app.get(PATH)).status).toBe(500);
    expect((await app.get("/mcp/research/report?token=BTC")).body["error"]).toMatch(/both are free$/);
  });
});
