import { Ajv2020 } from "ajv/dist/2020";
import { describe, expect } from "vitest";
import * as z from "zod";
import { chain, useChain } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { buy, createPaidApp, headerOf, payer, test, transfer, writings } from "./payer";

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

  test("sees a preview of what is there, and asks no model for it; in words where there is nothing", async ({
    app,
  }) => {
    const preview = (query: string) => app.get(`${PATH}?preview=1${query}`);
    for (const [query, named] of [
      ["", "the whole market"],
      ["&token=bitcoin", "BTC"],
    ] as const) {
      const none = await preview(query);
      expect([none.status, none.body["error"]]).toEqual([
        404,
        `There is no report on ${named} to preview yet. A paid report is written when it is bought; a token that no source knows cannot be bought`,
      ]);
    }
    expect((await preview("&token=%00")).status).toBe(400);
    for (const other of ["maybe", "0", ""])
      expect((await app.get(`${PATH}?preview=${other}`)).status).toBe(402);
    expect(asked(app)).toBe(0);
    const free = z
      .object({
        result: z.object({
          shortSummary: z.string(),
          marketOutlook: z.string(),
          generatedAt: z.string(),
          sources: z.array(z.unknown()),
        }),
      })
      .parse((await app.post("/mcp/research", { token: "BTC" })).body).result;
    const before = [asked(app), writings(app)];
    const { status, body } = await preview("&token=btc");
    expect([status, body]).toEqual([
      200,
      {
        preview: {
          token: "BTC",
          headline: free.shortSummary,
          outlook: free.marketOutlook,
          generatedAt: free.generatedAt,
          facts: free.sources.length,
        },
        price: { amount: "1.00", asset: "USDC", network: "base" },
      },
    ]);
    expect([asked(app), writings(app)]).toEqual(before);
    expect((await app.get("/mcp/research/report?token=BTC")).body["error"]).toMatch(
      /^There is no research report on BTC yet\. One can be bought for 1\.00 USDC on Base: .*\/agent\/research\/paid; .* sends the USDC to 0x\w{40} and posts \{"token":"BTC"\} there/,
    );
  });

  test("is 500 where there is nothing to sell with", async () => {
    const app = createPaidApp(chain, { env: { PLATFORM_WALLET_ADDRESS: "" } });
    expect((await app.get(PATH)).status).toBe(500);
    expect((await app.get("/mcp/research/report?token=BTC")).body["error"]).toBe(
      "There is no research report on BTC yet",
    );
  });
});
