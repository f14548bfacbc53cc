import { createHash } from "node:crypto";
import { expect } from "vitest";
import { domains, endpoints } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { pages } from "../../scripts/reference/page";
import { says, soundWords } from "../pages/support";
import { test } from "../support/app";

/** The reference, and small texts for programs that come by. */

test("the reference has a page a subject that reads like the service's others, and a list of all endpoints", async ({
  app,
}) => {
  const first = await app.get("/docs");
  soundWords(first);
  for (const [name, told] of Object.entries(domains)) {
    expect(first.text).toContain(`href="/docs/${name}"`);
    const page = await app.get(`/docs/${name}`);
    soundWords(page);
    for (const { path, methods, errors } of told) {
      for (const method of methods) {
        says(page.text, `<code>${method} ${path}</code>`);
        says(first.text, `/docs/${name}#${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, "-")}"`);
      }
      for (const said of Object.values(errors ?? {}))
        says(page.text, marked(typeof said === "string" ? said : said.when));
    }
    if (name === "orders") says(page.text, "<code>slippageBps</code>");
  }
  expect((await app.get("/docs/nothing")).status).toBe(404);
});

test("whoever begins is shown how to fetch the program so that an error page is none, and its hash", async ({
  app,
}) => {
  const program = await app.get("/proxy.mjs");
  const { text } = await app.get("/start");
  says(text, "curl -fsS -o proxy.mjs", createHash("sha256").update(program.text).digest("hex"));
});

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
    expect(html.match(/<script/g)).toHaveLength(1);
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
  expect(robots.text).toMatch(/^User-agent: \*\n[^]*Disallow: \/mcp\/\n[^]*Allow: \/\nSitemap: \S+\n$/);
  // Whether the longest rule counts or the first one.
  for (const path of ["market", "prices", "signals/", "whale-alerts", "research/report"])
    expect(robots.text.indexOf(`Allow: /mcp/${path}\n`)).toBeGreaterThan(0);
  expect(robots.text.lastIndexOf("Allow: /mcp/")).toBeLessThan(robots.text.indexOf("Disallow: /mcp/"));
  const icon = await app.get("/favicon.ico");
  expect(icon.headers.get("content-type")).toBe("image/svg+xml");
  expect(icon.text).toMatch(/^<svg xmlns='http:\/\/www\.w3\.org\/2000\/svg'.*<\/svg>$/);
});
