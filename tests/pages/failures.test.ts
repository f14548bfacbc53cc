import { expect } from "vitest";
import { EIGHT, test } from "../signals/support";
import { createApp } from "../support/app";
import { BROWSER, openPage } from "./support";

/** What a browser sees where something fails. */

test("a failure is a page for a browser and JSON for programs, for who sent a body, and for who has to pay", async () => {
  const app = createApp({ now: EIGHT, env: { PLATFORM_WALLET_ADDRESS: `0x${"1".repeat(40)}` } });
  for (const [path, status, words] of [
    ["/nowhere", 404, "There is no page at this address"],
    ["/signals/BTC-2020-01-01", 404, "There is no signal BTC-2020-01-01: /record lists all signals"],
    ["/mcp/token", 400, "question is required"],
    ["/messenger/webhook", 405, "This address is for programs"],
  ] as const) {
    const page = await openPage(app, path);
    expect([path, page.status, page.headers.get("content-type")]).toEqual([
      path,
      status,
      "text/html; charset=utf-8",
    ]);
    expect(page.text).toContain(words);
    expect(page.text).toContain('<a href="/record">');
    expect([page.headers.get("cache-control"), page.headers.get("vary")]).toEqual([
      "no-store",
      "Accept, Sec-Fetch-Mode",
    ]);
    expect(page.text).not.toMatch(/endpoint|userId/);
    const plain = await app.get(path);
    expect([plain.status, Object.keys(plain.body)]).toEqual([status, ["error"]]);
    expect(page.headers.get("allow")).toBe(plain.headers.get("allow"));
  }
  const headers = { Accept: BROWSER };
  const posted = await app.post("/mcp/chat", {}, { headers });
  expect([posted.status, Object.keys(posted.body)]).toEqual([400, ["error"]]);
  const paid = await app.get("/agent/research/paid", { headers });
  expect(paid.body).toHaveProperty("paymentDetails");
  expect(paid.status).toBe(402);
});

test("a page is HTML for everybody, and none of its neighbours is hidden", async ({ app }) => {
  for (const accept of [BROWSER, "*/*", "application/json"]) {
    const { status, headers } = await app.get("/", { headers: { Accept: accept } });
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  }
  for (const name of ["latest", "history", "proof", "winrate"]) {
    const { status, headers } = await openPage(app, `/signals/${name}`);
    expect([name, status, headers.get("content-type")]).toEqual([name, 200, "application/json"]);
  }
  for (const path of ["/signals", "/signals/BTC-2026-01-05/more", "/signals/%E0%A4%A", "/board"]) {
    expect([path, (await openPage(app, path)).status]).toEqual([path, 404]);
  }
  expect((await app.post("/signals/BTC-2026-01-05")).headers.get("allow")).toBe("GET, OPTIONS");
  expect((await app.get(`/signals/${"x".repeat(41)}`)).status).toBe(400);
});
