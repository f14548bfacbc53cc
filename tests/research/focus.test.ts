import { describe, expect } from "vitest";
import { SECURITY_MESSAGE } from "../../convex/lib/keyRequests";
import { MINUTE } from "../../convex/lib/time";
import { type App, test } from "../support/app";

/** What research is about: a token however it is written, or a question. */

const WAYS = ["btc", "$BTC", "BTC/USDT", "Bitcoin", "$bitcoin", " btc/usd "];

/** The foci of the results that are kept. */
const foci = async (app: App) =>
  (await app.rows("answers")).flatMap(({ key }) => (/^research:(.*)/.exec(key) ?? []).slice(1));
/** The same token for a report, a shift, and the reports of shifts. */
const ask = async (app: App, token: string) => [
  await app.post("/mcp/research", { token }),
  await app.post("/mcp/research/start", { userId: "alice", token }),
  await app.get(`/mcp/research/report?token=${encodeURIComponent(token)}`),
];

describe("a token", () => {
  test("means one focus, however it is written, in research, shifts, reports, signals and the market", async ({
    app,
  }) => {
    for (const token of WAYS) {
      const [result, shift, report] = await ask(app, token);
      expect([token, result?.status, shift?.status, report?.body.error]).toEqual([
        token,
        200,
        200,
        expect.stringMatching(/^There is no research report on BTC yet\./),
      ]);
      const query = `token=${encodeURIComponent(token)}`;
      const { signals } = (await app.get(`/mcp/signals/latest?${query}`)).body;
      expect(Object.keys(signals ?? {})).toEqual(["BTC"]);
      expect((await app.get(`/mcp/signals/history?${query}`)).status).toBe(200);
    }
    for (const [query, status, words] of [
      ["", 400, /^token or jobId is required: .* the id that its start returned$/],
      [
        "?jobId=nonsense",
        404,
        /^The shift nonsense has no research report: .* GET \/mcp\/research\/status lists/,
      ],
    ] as const) {
      const { status: answered, body } = await app.get(`/mcp/research/report${query}`);
      expect([query, answered, body.error]).toEqual([query, status, expect.stringMatching(words)]);
    }
    expect(await foci(app)).toEqual(["BTC"]);
    expect((await app.rows("shifts")).map(({ token }) => token)).toEqual(WAYS.map(() => "BTC"));
  });

  test("of any listed coin may be named in words", async ({ app }) => {
    for (const [token, symbol] of [
      ["Dogecoin", "DOGE"],
      ["doge/usdt", "DOGE"],
      ["shibainu", "SHIB"],
      [" Shiba  Inu", "SHIB"],
      ["bitcoin cash", "BCH"],
      ["Pepe Coin", "PEPE"],
    ] as const) {
      const { body } = await app.get(`/mcp/research/report?token=${encodeURIComponent(token)}`);
      expect([token, body.error]).toEqual([token, expect.stringContaining(`report on ${symbol} yet`)]);
    }
    for (const name of ["Shiba%20Inu", "shib"])
      expect((await app.get(`/research?token=${name}`)).text).toContain("<h1>Research on SHIB</h1>");
  });

  test.for([
    ["foobarx", "FOOBARX"],
    ["foo bar x", "FOO BAR X"],
  ] as const)(
    "%j that no source knows is 404 everywhere, nothing is made, and exchanges are asked once an hour at most",
    async ([token, name], { app }) => {
      const unknown = {
        error: `No source knows the token ${name}: name it by its symbol, such as BTC, or leave token out for the whole market`,
      };
      const answers = await ask(app, token);
      await app.pass(50 * MINUTE, { cronsRun: false });
      for (const { status, body } of [...answers, ...(await ask(app, token))])
        expect([status, body]).toEqual([404, unknown]);
      expect([app.standins.sent("llm"), await app.rows("shifts")]).toEqual([[], []]);
      const asked = app.standins.sent("coinbase").filter(({ path }) => path.includes("FOO"));
      // A name is no symbol of an exchange's.
      expect(asked).toHaveLength(token === "foobarx" ? 1 : 0);
    },
  );

  test("is taken as it is asked for while the sources that would know are out of reach", async ({ app }) => {
    for (const source of ["coinbase", "coingecko"] as const)
      app.standins.fail(source, { mode: "status", status: 503 });
    expect((await app.post("/mcp/research/start", { userId: "alice", token: "FOOBARX" })).status).toBe(200);
    // A name is no focus: without a source nobody can say whose it is.
    const named = await app.post("/mcp/research/start", { userId: "alice", token: "Shiba Inu" });
    expect([named.status, named.body.error]).toEqual([
      502,
      "The sources that know whether this token is traded cannot be reached: try again in a minute, or name the token by its symbol",
    ]);
  });
});

test("a request for a private key gets the security message, and reaches no model", async ({ app }) => {
  const { status, body } = await app.post("/mcp/research", { token: "show me my private key" });
  const result = { fullAnalysis: SECURITY_MESSAGE, marketOutlook: "neutral" };
  expect([status, body]).toMatchObject([200, { answer: SECURITY_MESSAGE, result }]);
  expect(app.standins.sent("llm")).toEqual([]);
});
