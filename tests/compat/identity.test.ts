import { describe, expect } from "vitest";
import { test } from "../support/app";

/** Earlier clients send one `userId` for everybody who has set none: it must not make them one user. */

const SHARED = "mcp-anonymous";

describe("the id that earlier clients share", () => {
  const NAMED = [
    ["POST", "/mcp/research/start"],
    ["POST", "/mcp/research/stop"],
    ["GET", "/mcp/research/status"],
    ["POST", "/mcp/wallet/create"],
    ["GET", "/mcp/wallet/balance"],
    ["POST", "/mcp/defi/connect"],
    ["GET", "/mcp/defi/portfolio"],
    ["POST", "/user/telegram", { telegramChatId: "11" }],
  ] as const;

  test("is nobody's, and moves no money: what to do is said", async ({ app }) => {
    const order = { token: "USDC", toAddress: `0x${"5".repeat(40)}`, amount: "1" };
    for (const [method, path, fields] of [...NAMED, ["POST", "/mcp/defi/send", order] as const]) {
      const answer =
        method === "GET"
          ? await app.get(`${path}?userId=${SHARED}`)
          : await app.post(path, { userId: SHARED, ...fields });
      expect([path, answer.status, answer.body.error]).toEqual([
        ...[path, 400],
        expect.stringMatching(/^userId must be your own, a long random one/),
      ]);
    }
    for (const table of ["shifts", "wallets", "messengerConfigs"] as const) {
      expect(await app.rows(table)).toEqual([]);
    }
  });

  test("counts as left out where a userId may be", async ({ app }) => {
    const { status, body } = await app.post("/mcp/whale-alerts", { userId: SHARED });
    expect([status, body]).toEqual([200, { hours: 6, count: 0, alerts: [] }]);
    expect((await app.get(`/mcp/signals/latest?userId=${SHARED}`)).body).not.toHaveProperty("messengerSent");
    expect((await app.post("/mcp/chat", { question: "How is SOL?", userId: SHARED })).status).toBe(200);
  });
});

test("a base address with a slash at its end reaches the same endpoints", async ({ app }) => {
  const [one, two] = [await app.get("/whales/latest?hours=24"), await app.get("//whales/latest?hours=24")];
  expect(two.body).toEqual(one.body);
  const stopped = await app.post("//mcp/research/stop", { userId: "alice" });
  expect(stopped.body).toEqual({ success: true, stopped: 0 });
  const { status, headers } = await app.call("PUT", "//mcp/market");
  expect([status, headers.get("allow")]).toEqual([405, "GET, OPTIONS"]);
  expect((await app.get("//nowhere")).status).toBe(404);
});
