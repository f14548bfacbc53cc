import { describe, expect, test } from "vitest";
import type { Standins } from "../../scripts/standins/index";
import { get, post, standinsAt, START } from "./support";

/** The stand-in for the public tickers. */

const COINBASE = "/tickers/v2/prices/BTC-USD/spot";
const BINANCE = "/tickers/api/v3/ticker/24hr?symbol=BTCUSDT";
const COINGECKO =
  "/tickers/api/v3/simple/price?ids=bitcoin,solana&vs_currencies=usd&include_24hr_change=true&include_last_updated_at=true";

const body = async (standins: Standins, path: string): Promise<unknown> => (await get(standins, path)).json();

describe("the tickers", () => {
  test("refuse what they do not know, each in its own words", async () => {
    const standins = standinsAt();
    const answers = [
      ["/tickers/v2/prices/NOPE-USD/spot", 404, { errors: [{ id: "not_found" }] }],
      ["/tickers/api/v3/ticker/24hr?symbol=NOPEUSDT", 400, { code: -1121 }],
      ["/tickers/api/v3/ticker/nothing?symbol=BTCUSDT", 404, { msg: "Unknown path" }],
      ["/tickers/api/v3/simple/price?ids=bitcoin", 422, { status: { error_code: 422 } }],
      ["/tickers/api/v3/simple/price?ids=nope&vs_currencies=usd", 200, {}],
      ["/tickers/elsewhere", 404, {}],
    ] as const;
    for (const [path, status, expected] of answers) {
      const response = await get(standins, path);
      expect([path, response.status]).toEqual([path, status]);
      expect(await response.json()).toMatchObject(expected);
    }
    expect((await post(standins, COINBASE, {})).status).toBe(405);
  });

  test("record what they are sent, without headers", async () => {
    const standins = standinsAt();
    await get(standins, COINBASE);
    await get(standins, BINANCE);
    expect(standins.sent("tickers")).toEqual([
      { method: "GET", path: "/v2/prices/BTC-USD/spot", body: null, at: START },
      { method: "GET", path: "/api/v3/ticker/24hr", query: { symbol: "BTCUSDT" }, body: null, at: START },
    ]);
    expect(await body(standins, "/_sent/tickers")).toEqual(standins.sent("tickers"));
  });

  test("fail when told to, one of them or all, in their own words", async () => {
    const standins = standinsAt();
    const told = await post(standins, "/_control", {
      provider: "tickers",
      mode: "status",
      status: 429,
      ticker: "binance",
    });
    expect(told.status).toBe(200);
    const refused = await get(standins, BINANCE);
    expect([refused.status, await refused.json()]).toEqual([429, { code: -1003, msg: "Too Many Requests" }]);
    expect((await get(standins, COINBASE)).status).toBe(200);
    expect((await get(standins, COINGECKO)).status).toBe(200);
    standins.fail("tickers", { mode: "status", status: 500 });
    expect(await body(standins, COINBASE)).toEqual({
      errors: [{ id: "error", message: "Internal Server Error" }],
    });
    standins.clear("tickers");
    standins.fail("tickers", { mode: "empty", times: 1 });
    expect(await body(standins, COINGECKO)).toEqual({});
    expect(() => {
      standins.fail("llm", { mode: "empty", ticker: "coinbase" });
    }).toThrow("not a ticker");
  });
});
