import "./meta";
import { describe, expect } from "vitest";
import { createApp, type App, test } from "../support/app";

/** What stays for good costs a stranger something: wallets by the hundred from addresses by the hundred do not. */

const HOUR = 3_600_000;

/** Makes so many wallets, each for another user. @returns How many were made, and the last answer's status. */
async function make(app: App, count: number, ipOf: (n: number) => string) {
  let status = 0;
  for (let n = 0; n < count; n++) {
    const userId = `one-of-very-many-strangers-${n}-${ipOf(n)}`;
    ({ status } = await app.post("/mcp/wallet/create", { userId }, { ip: ipOf(n) }));
  }
  return { made: (await app.rows("wallets")).length, status };
}

describe("wallets, which are kept for good,", () => {
  test("are 60 an hour for one address", async ({ task }) => {
    const app = createApp();
    expect(await make(app, 70, () => "198.51.100.1")).toEqual({ made: 60, status: 429 });
    await app.advance(HOUR);
    expect((await app.post("/mcp/wallet/create", { userId: "one-more-of-that-office" })).status).toBe(200);
    task.meta.tries = 70;
  });

  test("are 300 an hour for all strangers, and no signed-in user waits for them", async ({ task }) => {
    const app = createApp();
    const rotating = (n: number) => `198.51.${n % 200}.${Math.floor(n / 200) + 1}`;
    expect(await make(app, 320, rotating)).toEqual({ made: 300, status: 429 });
    const refused = await app.post("/mcp/defi/connect", { userId: "a-stranger-who-came-last" });
    expect([refused.status, Number(refused.headers.get("retry-after")) > 0]).toEqual([429, true]);
    const own = await app.post("/mcp/defi/connect", { userId: "a-user-who-is-signed-in" }, { as: "alice" });
    expect(own.status).toBe(200);
    task.meta.tries = 321;
  });
});
