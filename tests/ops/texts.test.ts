import { expect } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { test } from "../support/app";

/** Small texts for programs that come by. */

test("/llms.txt tells a model every endpoint with its address", async ({ app }) => {
  const { status, headers, text } = await app.get("/llms.txt");
  expect([status, headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  expect(text).toMatch(/^# .+\n\n> .+\n/);
  for (const { path, summary } of endpoints) expect(text).toContain(`${path}): ${summary}`);
  expect(text).toContain("https://some.convex.site/openapi.json");
  expect(Buffer.byteLength(text)).toBeLessThan(16_000);
});

test("/robots.txt lets crawlers read the pages, and nothing that costs or is somebody's", async ({ app }) => {
  const { headers, text } = await app.get("/robots.txt");
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(text).toMatch(/^User-agent: \*\n/);
  expect(text).toContain("Disallow: /mcp/\n");
  expect(text).toMatch(/Allow: \/\n$/);
});

test("/favicon.ico is a picture that may be kept", async ({ app }) => {
  const { headers, text } = await app.get("/favicon.ico");
  expect([headers.get("content-type"), headers.get("cache-control")]).toEqual([
    "image/svg+xml",
    "public, max-age=86400",
  ]);
  expect(text).toMatch(/^<svg xmlns='http:\/\/www\.w3\.org\/2000\/svg'.*<\/svg>$/);
});
