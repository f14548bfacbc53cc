import { describe, expect } from "vitest";
import { COINS } from "../../scripts/standins/sources/coins";
import { createApp, test } from "../support/app";
import { shareEverything, shareWhatIsFresh } from "./sharedWork";

const MINUTE = 60_000;

describe("many shifts on few foci", () => {
  test("12 started together cost 9 upstream calls per 30 minutes, and one writing per focus and report", async () => {
    await shareEverything(12);
  });

  test("60 started in half an hour cost at most 54", async () => {
    await shareWhatIsFresh(60);
  });

  test("a shift shares an observation at most 5 minutes old, of its own focus alone", async ({ app }) => {
    const observed = async (userId: string, token: string) => {
      const { body } = await app.post("/mcp/research/start", { userId, token });
      await app.settle();
      const points = await app.rows("dataPoints");
      return points.find(({ shiftId }) => shiftId === body.jobId)?.observationId;
    };
    const first = await observed("a", "BTC");
    await app.pass(4 * MINUTE, { cronsRun: false });
    expect(await observed("b", "BTC")).toBe(first);
    expect(await observed("c", "ETH")).not.toBe(first);
    await app.pass(2 * MINUTE, { cronsRun: false });
    expect(await observed("d", "BTC")).not.toBe(first);
  });
});

describe("more foci than the lane works on at once", () => {
  test("wait their turn: nothing is asked twice, and nothing is left out", async () => {
    const app = createApp({ env: { DAILY_BUDGET_USD: "1000" } });
    const foci = COINS.slice(0, 24).map(({ symbol }) => symbol);
    // Slow enough in simulated time that most of them wait longer than an attempt may take.
    let asked = 0;
    const inner = app.standins.handle.bind(app.standins);
    app.standins.handle = async (request) => {
      if (request.url.includes("/sentiment/")) {
        asked++;
        await new Promise((resolve) => setTimeout(resolve, 100_000));
      }
      return inner(request);
    };
    for (const [i, token] of foci.entries())
      await app.post("/mcp/research/start", { userId: `u${i}`, token }, { ip: `198.51.100.${i}` });
    await app.pass(25 * MINUTE);
    const observations = await app.rows("observations");
    expect(observations.map(({ state }) => state)).toEqual(foci.map(() => "settled"));
    expect(asked).toBe(24);
  });
});
