import { describe, expect, test as plainTest, vi } from "vitest";
import { listKeys } from "../../convex/lib/objects";
import { decodeFacts, QUOTES } from "../../convex/market/facts";
import { COLLECTIONS } from "../../convex/market/tables";
import { listCollectionsFor } from "../../convex/research/writing/brief";
import { type App, test } from "../support/app";
import { altered, intercept } from "../support/outside";

/** What the public sources really answer on a first day: rules of their own, odd rows, and refusals. */

type Fact = { subject: string; kind: string; value: unknown; source: string; url: string };

async function factsOf(app: App, key: string): Promise<Fact[]> {
  const rows = await app.rows("facts");
  return rows.filter((row) => row.key === key).flatMap((row): Fact[] => decodeFacts(row));
}

describe("the sites' headlines", () => {
  test("stand without a site that fails, and name a coin only where its name or its symbol stands", async ({
    app,
  }) => {
    app.standins.fail("decrypt", { mode: "garbage" });
    const { body } = await app.post("/mcp/research", {});
    expect(JSON.stringify(body)).not.toContain('"collector":"news"');
    const sites = new Set((await factsOf(app, "news:")).map(({ source }) => source));
    expect([...sites].toSorted()).toEqual(["coindesk.com", "cointelegraph.com"]);
    await app.post("/mcp/research", { token: "SOL" });
    const found = await factsOf(app, "news:SOL");
    expect(found.length).toBeGreaterThan(0);
    for (const { value } of found) expect(value).toMatch(/\bSolana\b|\bSOL\b/);
  });

  test("are missing where nobody answers, and the reason names each", async ({ app }) => {
    for (const source of ["coindesk", "cointelegraph", "decrypt"] as const)
      app.standins.fail(source, { mode: "status", status: 503 });
    const { body } = await app.post("/mcp/research", {});
    expect(JSON.stringify(body)).toMatch(
      /"collector":"news".*CoinDesk answered with status 503; Cointelegraph/,
    );
  });

  test("are read from Atom too, without articles that are none", async ({ app }) => {
    const at = new Date(Date.now() - 60_000).toISOString();
    const entry = (title: string, href: string, date = at) =>
      `<entry><title>${title}</title><link rel="self" href="https://decrypt.co/self"/>` +
      `<link href="${href}"/><updated>${date}</updated></entry>`;
    const text = `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Decrypt</title>${[
      entry("Bitcoin &amp; Ether steady", "https://decrypt.co/1"),
      entry("Next week&nbsp;is here", "https://decrypt.co/2", "2031-01-01T00:00:00Z"),
      entry("Runs code", "javascript:alert(1)"),
      entry("Older news", "https://decrypt.co/3", new Date(Date.now() - 3_600_000).toISOString()),
    ].join("")}</feed>`;
    intercept(({ url }, pass) => (url.endsWith("/feed") ? Promise.resolve(new Response(text)) : pass()));
    await app.post("/mcp/research", {});
    const facts = await factsOf(app, "news:");
    expect(facts.find(({ source }) => source === "decrypt.co")).toMatchObject({
      value: "Bitcoin & Ether steady",
      url: "https://decrypt.co/1",
    });
    expect(JSON.stringify(facts)).not.toMatch(/javascript|2031|Next week/);
  });
});

plainTest("every collection is asked for, by reports or for live prices", () => {
  const asked = [QUOTES, ...listCollectionsFor("BTC")].map(({ collector }) => collector);
  expect(new Set(asked)).toEqual(new Set(listKeys(COLLECTIONS)));
});

test("one odd row of a source is left out alone", async ({ app }) => {
  const rowsChanged = (change: (rows: unknown[]) => unknown) => (body: unknown) =>
    Array.isArray(body) ? change(body) : body;
  /** The list of this name in a body, changed. */
  const listChanged = (name: string, change: (rows: unknown[]) => unknown) => (body: unknown) => {
    if (typeof body !== "object" || body === null) return body;
    const list = new Map<string, unknown>(Object.entries(body)).get(name);
    return Array.isArray(list) ? { ...body, [name]: change(list) } : body;
  };
  altered(
    /\/info$/,
    rowsChanged(([meta, contexts]) => [
      meta,
      rowsChanged((all) => all.map((one, index) => (index === 1 ? { funding: null } : one)))(contexts),
    ]),
  );
  altered(
    /\/search\/trending/,
    listChanged("coins", (coins) => coins.map((one, index) => (index === 0 ? { item: null } : one))),
  );
  altered(
    /\/candles\?/,
    rowsChanged((rows) => [...rows.slice(0, 5), ["soon", null], ...rows.slice(6)]),
  );
  altered(
    /\/book\?/,
    listChanged("bids", (bids) => [["none", "1", 2], ...bids]),
  );
  const { body } = await app.post("/mcp/research", {});
  expect(JSON.stringify(body)).not.toMatch(/"collector":"(?:perpetuals|trending|candles|book)"/);
  const funding = (await factsOf(app, "perpetuals:")).filter(({ kind }) => kind === "funding");
  expect(funding.map(({ subject }) => subject)).toContain("BTC");
  expect(funding.map(({ subject }) => subject)).not.toContain("ETH");
  const places = (await factsOf(app, "trending:")).filter(({ kind }) => kind === "trendingPlace");
  expect(places.map(({ value }) => value)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(JSON.stringify(await factsOf(app, "candles:BTC"))).toContain("api.exchange.coinbase.com");
});

test.for([
  ["CG-abcdefghij", "x-cg-demo-api-key", "api.coingecko.com"],
  ["demo:CG-abcdefghij", "x-cg-demo-api-key", "api.coingecko.com"],
  ["pro:CG-abcdefghij", "x-cg-pro-api-key", "pro-api.coingecko.com"],
] as const)("CoinGecko's key %s is sent as %s to %s alone", async ([key, header, host], { app }) => {
  vi.stubEnv("COINGECKO_API_KEY", key);
  vi.stubEnv("EVIDENCE_API_URL", "");
  const asked: Request[] = [];
  const fetched = globalThis.fetch;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    asked.push(new Request(input, init));
    return fetched(input, init);
  });
  await app.get("/mcp/market");
  const gecko = asked.filter(({ url }) => new URL(url).host.includes("coingecko"));
  expect(gecko.length).toBeGreaterThan(1);
  for (const one of asked)
    expect([new URL(one.url).host === host, one.headers.get(header)]).toEqual(
      gecko.includes(one) ? [true, "CG-abcdefghij"] : [false, null],
    );
});
