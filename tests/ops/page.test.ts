import { utf8ToBytes } from "@noble/hashes/utils.js";
import { expect } from "vitest";
import { domains, endpoints } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { pages } from "../../scripts/reference/page";
import { expectOutline, styleOf } from "../pages/support";
import { test } from "../support/app";
import type { Answer } from "../support/world";

/** The reference, and small texts for programs that come by. */

test("the reference has a page a subject that reads like the service's others, and a list of all endpoints", async ({
  app,
}) => {
  const first = await app.get("/docs");
  expectSound(first);
  for (const [name, told] of Object.entries(domains)) {
    expect(first.text).toContain(`href="/docs/${name}"`);
    const page = await app.get(`/docs/${name}`);
    expectSound(page);
    for (const { path, methods, errors } of told) {
      for (const method of methods) {
        says(page.text, `<code>${method} ${path}</code>`);
        says(first.text, `/docs/${name}#${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, "-")}"`);
      }
      for (const said of Object.values(errors ?? {}))
        says(page.text, marked(typeof said === "string" ? said : said.when));
    }
    if (name === "wallets") says(page.text, "<code>slippageBps</code>");
  }
  expect((await app.get("/docs/nothing")).status).toBe(404);
});

/** It loads nothing, runs nothing, cannot be framed, is small, and every place that it leads to within itself is there. */
function expectSound({ status, headers, text }: Answer): void {
  expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  const policy = headers.get("content-security-policy") ?? "";
  for (const part of ["default-src 'none'", "frame-ancestors 'none'", `'sha256-${styleOf(text).digest}'`])
    expect(policy).toContain(part);
  expect(policy).not.toContain("script-src");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(utf8ToBytes(text).length).toBeLessThan(50_000);
  expect(text).not.toMatch(/<script|<iframe|<img|<link rel="stylesheet"|@import|url\(|\son\w+=|\sstyle=/i);
  for (const [, target = ""] of text.matchAll(/\s(?:href|src)="([^"]*)"/g))
    expect(target).toMatch(/^(?:#|\/(?!\/)|data:image\/svg\+xml,)/);
  expectOutline(text);
  const ids = Array.from(text.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, id = ""] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(id);
}

/** A page is too long to be shown by what it lacks. */
function says(text: string, part: string): void {
  expect([part, text.includes(part)]).toEqual([part, true]);
}

function marked(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("'", "&#39;")
    .replaceAll("<", "&lt;")
    .replace(/`([^`]+)`/g, "<code>$1</code>");
}

test("what the document says is text to the page, never markup", () => {
  const document = openApi({ "a<b": domains.market ?? [] }, "https://x.test/?\"'<script>alert(1)</script>");
  for (const html of Object.values(pages(document))) {
    expect(html).not.toContain("<script");
    expect(html).toContain("a&lt;b");
  }
});

test("/llms.txt tells a model every endpoint, /robots.txt keeps crawlers from what costs, /favicon.ico is a picture", async ({
  app,
}) => {
  const { headers, text } = await app.get("/llms.txt");
  expect(headers.get("content-type")).toBe("text/plain; charset=utf-8");
  expect(text).toMatch(/^# .+\n\n> .+\n/);
  for (const { path, summary } of endpoints) expect(text).toContain(`${path}): ${summary}`);
  expect(text).toContain("https://some.convex.site/openapi.json");
  expect(Buffer.byteLength(text)).toBeLessThan(16_000);
  const robots = await app.get("/robots.txt");
  expect(robots.text).toMatch(/^User-agent: \*\n[^]*Disallow: \/mcp\/\n[^]*Allow: \/\n$/);
  const icon = await app.get("/favicon.ico");
  expect(icon.headers.get("content-type")).toBe("image/svg+xml");
  expect(icon.text).toMatch(/^<svg xmlns='http:\/\/www\.w3\.org\/2000\/svg'.*<\/svg>$/);
});
