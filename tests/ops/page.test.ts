import { utf8ToBytes } from "@noble/hashes/utils.js";
import { gzipSync } from "fflate";
import { beforeEach, describe, expect } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { book } from "../../scripts/reference/page";
import { expectOutline, styleOf } from "../pages/support";
import { createApp, test } from "../support/app";
import type { Answer } from "../support/world";

describe("the reference page", () => {
  let answer: Answer;
  beforeEach(async () => {
    answer = await createApp().get("/docs");
  });

  test("is HTML that loads nothing, runs nothing and cannot be framed", () => {
    const { status, headers, text } = answer;
    expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const policy = headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("script-src");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(text).not.toMatch(/<script|<iframe|<img|<link rel="stylesheet"|@import|url\(|\son\w+=|\sstyle=/i);
    for (const [, target = ""] of text.matchAll(/(?:href|src)="([^"]*)"/g)) {
      expect(target).toMatch(/^(?:#|\/$|\/docs|\/openapi\.json$|data:image\/svg\+xml,)/);
    }
  });

  test("has the one style that its policy names", () => {
    const { css, digest } = styleOf(answer.text);
    expect(answer.headers.get("content-security-policy")).toContain(`style-src 'sha256-${digest}'`);
    expect(css).toContain("prefers-color-scheme: dark");
  });

  test("has a first view of less than 50 kB, as has every other page's text, and each leads on and back", async () => {
    const app = createApp();
    const links = new Set(
      Array.from(answer.text.matchAll(/href="(\/docs\/[^"#]+)/g), ([, href = ""]) => href),
    );
    expect(links.size).toBeGreaterThan(10);
    const pages = await Promise.all([...links].map(async (href) => [href, await app.get(href)] as const));
    const ids: Record<string, string[]> = {};
    let all = answer.text;
    for (const [href, { status, text }] of [["/docs", answer] as const, ...pages]) {
      expect([href, status]).toEqual([href, 200]);
      expect([href, gzipSync(utf8ToBytes(text)).length < 50_000]).toEqual([href, true]);
      says(text, '<a href="/">');
      says(text, 'action="/docs"');
      ids[href] = Array.from(text.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
      expect(new Set(ids[href]).size).toBe(ids[href]?.length);
      const targets = Array.from(
        text.matchAll(/(?:href="#|aria-labelledby=")([^"]+)"/g),
        ([, id = ""]) => id,
      );
      expect(targets.filter((id) => ids[href]?.includes(id) !== true)).toEqual([]);
      all += text;
    }
    expect(utf8ToBytes(answer.text).length).toBeLessThan(50_000);
    for (const [, href = "", id = ""] of answer.text.matchAll(/href="(\/docs\/[^"#]+)#([^"]+)"/g))
      expect([href, id, ids[href]?.includes(id)]).toEqual([href, id, true]);
    for (const { path, errors } of endpoints) {
      says(all, `<code>${path}</code></a></`);
      for (const said of Object.values(errors ?? {}))
        says(all, marked(typeof said === "string" ? said : said.when));
    }
    for (const field of ["userId", "slippageBps", "telegramChatId", "top20[].<wbr>marketCap"])
      says(all, `<code>${field}</code>`);
  });

  test("finds what has all words of a search, and says where there is nothing", async () => {
    const app = createApp();
    const { text } = await app.get("/docs?q=slippageBps%20SWAP");
    expect([text.includes("POST /mcp/defi/swap"), text.includes("/mcp/market")]).toEqual([true, false]);
    says((await app.get("/docs?q=%3Cscript%3E")).text, "Search: &lt;script&gt;");
    says((await app.get("/docs?q=nowhere-at-all")).text, "Nothing has all of these words.");
    expect((await app.get("/docs/nowhere")).status).toBe(404);
  });

  test("has landmarks, one main heading, and headings that skip no level", () => {
    expectOutline(answer.text);
  });
});

test("what the document says is text to the page, never markup", () => {
  const document = openApi({ "a<b": endpoints.slice(0, 1) }, "https://x.test/?\"'<script>alert(1)</script>");
  const html = JSON.stringify(book(document).book);
  expect(html).not.toContain("<script");
  expect(html).toContain("a&lt;b");
});

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
