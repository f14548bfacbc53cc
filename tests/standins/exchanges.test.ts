import { describe, expect, test } from "vitest";
import { createStandins, type Standins } from "../../scripts/standins/index";
import { BASE, standinsAt, START } from "./support";

/** The stand-ins for the two exchanges, as their documents describe them. */

const AGENT = { "User-Agent": "tests" };
const ask = async (standins: Standins, path: string, headers: Record<string, string> = AGENT) => {
  const response = await standins.handle(new Request(`${BASE}/evidence${path}`, { headers }));
  const body: unknown = await response.json();
  return { status: response.status, body };
};
const at = (ms: number) => new Date(ms).toISOString();
const MINUTE = 60_000;

describe("Coinbase Exchange", () => {
  test("tells candles newest first, as time, low, high, open, close, volume", async () => {
    const standins = standinsAt();
    const range = `start=${at(START - 3 * MINUTE)}&end=${at(START - MINUTE)}`;
    const { body } = await ask(standins, `/products/BTC-USD/candles?granularity=60&${range}`);
    const open = (minutes: number) => standins.market.coin("BTC", START - minutes * MINUTE).price;
    const rows = Array.isArray(body) ? body : [];
    expect(rows.map((row: unknown[]) => [row[0], row[3], row[4]])).toEqual([
      [START / 1_000 - 60, open(1), open(0)],
      [START / 1_000 - 120, open(2), open(1)],
      [START / 1_000 - 180, open(3), open(2)],
      // One from before the start, as the documents allow.
      [START / 1_000 - 240, open(4), open(3)],
    ]);
  });

  test("refuses in its own words", async () => {
    const standins = standinsAt();
    const long = `start=${at(START - 301 * MINUTE)}&end=${at(START)}`;
    expect(await ask(standins, "/products/BTC-USD/stats", {})).toMatchObject({ status: 400 });
    expect(await ask(standins, "/products/NOPE-USD/stats")).toEqual({
      status: 404,
      body: { message: "NotFound" },
    });
    expect(await ask(standins, "/products/BTC-USD/candles?granularity=61")).toEqual({
      status: 400,
      body: { message: "Unsupported granularity" },
    });
    expect(await ask(standins, `/products/BTC-USD/candles?granularity=60&${long}`)).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/aggregations requested exceeds 300/) },
    });
  });

  test("allows 15 requests a second", async () => {
    let now = START;
    const standins = createStandins({ seed: "tests", now: () => now });
    const statuses = await Promise.all(
      Array.from({ length: 16 }, () => ask(standins, "/products/BTC-USD/stats")),
    );
    expect(statuses.filter(({ status }) => status === 429)).toEqual([
      { status: 429, body: { message: "Public rate limit exceeded" } },
    ]);
    now += 1_000;
    expect((await ask(standins, "/products/BTC-USD/stats")).status).toBe(200);
  });
});

describe("Binance", () => {
  test("tells candles oldest first, the last one still open", async () => {
    const standins = standinsAt(START + 30_000);
    const { body } = await ask(standins, "/api/v3/klines?symbol=BTCUSDT&interval=1m&limit=2");
    expect(body).toEqual([
      [
        START - MINUTE,
        ...new Array(5).fill(expect.any(String)),
        START - 1,
        expect.any(String),
        100,
        expect.any(String),
        expect.any(String),
        "0",
      ],
      expect.arrayContaining([START, START + MINUTE - 1]),
    ]);
  });

  test("refuses in its own words", async () => {
    const standins = standinsAt();
    const refused = async (path: string) => (await ask(standins, `/api/v3/${path}`)).body;
    expect(await refused("klines?interval=1m")).toMatchObject({ code: -1102 });
    expect(await refused("klines?symbol=btc&interval=1m")).toMatchObject({ code: -1100 });
    expect(await refused("klines?symbol=NOPEUSDT&interval=1m")).toEqual({
      code: -1121,
      msg: "Invalid symbol.",
    });
    expect(await refused("klines?symbol=BTCUSDT&interval=2m")).toEqual({
      code: -1120,
      msg: "Invalid interval.",
    });
  });

  test("allows a weight of 6,000 a minute, of which a whole book takes 250", async () => {
    const standins = standinsAt();
    const whole = () => ask(standins, "/api/v3/depth?symbol=BTCUSDT&limit=5000");
    const statuses = await Promise.all(Array.from({ length: 25 }, whole));
    expect(statuses.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(24);
    expect(statuses.at(-1)?.body).toMatchObject({ code: -1003 });
  });
});
