import { describe, expect, vi } from "vitest";
import { factsIn } from "../../convex/market/facts";
import { type App, test } from "../support/app";
import { altered } from "../support/outside";

/** What the public sources really answer on a first day: rules of their own, odd rows, and refusals. */

type Fact = { subject: string; kind: string; value: unknown; source: string; url: string };

async function factsOf(app: App, key: string): Promise<Fact[]> {
  const rows = await app.rows("facts");
  return rows.filter((row) => row.key === key).flatMap((row): Fact[] => factsIn(row));
}

const headlines = async (app: App, subject: string) =>
  (await factsOf(app, `news:${subject}`)).map(({ value, source }) => ({ value: String(value), source }));

describe("the sites' headlines", () => {
  test("stand without a site that fails, each with its own", async ({ app }) => {
    app.standins.fail("decrypt", { mode: "garbage" });
    const { body } = await app.post("/mcp/research", {});
    expect(JSON.stringify(body)).not.toContain('"collector":"news"');
    const found = await headlines(app, "");
    expect(new Set(found.map(({ source }) => source))).toEqual(
      new Set(["coindesk.com", "cointelegraph.com"]),
    );
  });

  test("names a coin's headlines only where its name or its symbol stands", async ({ app }) => {
    await app.post("/mcp/research", { token: "SOL" });
    const found = await headlines(app, "SOL");
    expect(found.length).toBeGreaterThan(0);
    for (const { value } of found) expect(value).toMatch(/\bSolana\b|\bSOL\b/);
  });

  test("is missing where nobody answers, and the reason names each", async ({ app }) => {
    for (const source of ["coindesk", "cointelegraph", "decrypt"] as const)
      app.standins.fail(source, { mode: "status", status: 503 });
    const { body } = await app.post("/mcp/research", {});
    expect(JSON.stringify(body)).toMatch(
      /"collector":"news".*CoinDesk answered with status 503; Cointelegraph/,
    );
  });

  test("reads Atom too, and leaves out articles that are none", async ({ app }) => {
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
    const fetched = globalThis.fetch;
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) =>
      (input instanceof Request ? input.url : input.toString()).endsWith("/feed")
        ? Promise.resolve(new Response(text))
        : fetched(input, init),
    );
    await app.post("/mcp/research", {});
    const facts = await factsOf(app, "news:");
    expect(facts.find(({ source }) => source === "decrypt.co")).toMatchObject({
      value: "Bitcoin & Ether steady",
      url: "https://decrypt.co/1",
    });
    expect(JSON.stringify(facts)).not.toMatch(/javascript|2031|Next week/);
  });
});

/** What goes out, as it is asked. */
function watched(): Request[] {
  const asked: Request[] = [];
  const fetched = globalThis.fetch;
  vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
    asked.push(new Request(input, init));
    return fetched(input, init);
  });
  return asked;
}

describe("one odd row", () => {
  const rowsChanged = (change: (rows: unknown[]) => unknown) => (body: unknown) =>
    Array.isArray(body) ? change(body) : body;

  test("of Hyperliquid's markets is left out alone", async ({ app }) => {
    altered(
      /\/info$/,
      rowsChanged(([meta, contexts]) => [
        meta,
        Array.isArray(contexts)
          ? contexts.map((one: unknown, index) => (index === 1 ? { funding: null } : one))
          : [],
      ]),
    );
    const { body } = await app.post("/mcp/research", {});
    expect(JSON.stringify(body)).not.toContain('"collector":"perpetuals"');
    const told = (await factsOf(app, "perpetuals:")).filter(({ kind }) => kind === "funding");
    expect(told.map(({ subject }) => subject)).toContain("BTC");
    expect(told.map(({ subject }) => subject)).not.toContain("ETH");
  });

  test("of the most searched coins keeps the others' places", async ({ app }) => {
    altered(/\/search\/trending/, (body) =>
      typeof body === "object" && body !== null && "coins" in body && Array.isArray(body.coins)
        ? { ...body, coins: body.coins.map((one: unknown, index) => (index === 0 ? { item: null } : one)) }
        : body,
    );
    await app.post("/mcp/research", {});
    const places = (await factsOf(app, "trending:")).filter(({ kind }) => kind === "trendingPlace");
    expect(places.map(({ value }) => value)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  test("of an exchange's candles and of its book is left out alone", async ({ app }) => {
    altered(
      /\/candles\?/,
      rowsChanged((rows) => [...rows.slice(0, 5), ["soon", null], ...rows.slice(6)]),
    );
    altered(/\/book\?/, (body) =>
      typeof body === "object" && body !== null && "bids" in body && Array.isArray(body.bids)
        ? { ...body, bids: [["none", "1", 2], ...body.bids.map((bid: unknown) => bid)] }
        : body,
    );
    const { body } = await app.post("/mcp/research", {});
    expect(JSON.stringify(body)).not.toMatch(/"collector":"(?:candles|book)"/);
    expect(JSON.stringify(await factsOf(app, "candles:BTC"))).toContain("api.exchange.coinbase.com");
  });
});

describe("CoinGecko's key", () => {
  test.for([
    ["CG-abcdefghij", "x-cg-demo-api-key"],
    ["demo:CG-abcdefghij", "x-cg-demo-api-key"],
    ["pro:CG-abcdefghij", "x-cg-pro-api-key"],
  ] as const)("%s is sent as %s", async ([key, header], { app }) => {
    vi.stubEnv("COINGECKO_API_KEY", key);
    const asked = watched();
    await app.post("/mcp/research", {});
    const gecko = asked.filter(({ url }) => /\/(?:coins\/markets|trending)/.test(url));
    expect(gecko.length).toBeGreaterThan(1);
    for (const { headers } of gecko) expect(headers.get(header)).toBe("CG-abcdefghij");
    for (const { url, headers } of asked) {
      if (!gecko.some((one) => one.url === url)) expect(headers.get(header), url).toBeNull();
    }
  });

  test("leads a paid plan's to its own address", async ({ app }) => {
    vi.stubEnv("COINGECKO_API_KEY", "pro:CG-abcdefghij");
    vi.stubEnv("EVIDENCE_API_URL", "");
    const asked = watched();
    await app.post("/mcp/research", {});
    const hosts = asked.map(({ url }) => new URL(url).host).filter((host) => host.includes("coingecko"));
    expect(new Set(hosts)).toEqual(new Set(["pro-api.coingecko.com"]));
  });
});
