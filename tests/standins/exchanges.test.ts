import { describe, expect, test } from "vitest";
import { createStandins, type Standins } from "../../scripts/standins/index";
import { BASE, standinsAt, START } from "./support";

/** The stand-in for the exchange, as its documents describe it. */

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
