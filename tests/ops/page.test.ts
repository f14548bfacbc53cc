import { utf8ToBytes } from "@noble/hashes/utils.js";
import { gzipSync } from "fflate";
import { beforeEach, describe, expect } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { page } from "../../scripts/reference/page";
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

  test("has every endpoint with its fields, an example and its failures, in less than 100 kB", () => {
    const { text } = answer;
    expect(gzipSync(utf8ToBytes(text)).length).toBeLessThan(100_000);
    const ids = Array.from(text.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [, id = ""] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(id);
    for (const { path, methods, errors } of endpoints) {
      for (const method of methods) says(text, `<code>${method} ${path}</code>`);
      for (const said of Object.values(errors ?? {}))
        says(text, marked(typeof said === "string" ? said : said.when));
    }
    for (const field of ["userId", "slippageBps", "telegramChatId"]) says(text, `<code>${field}</code>`);
  });

  test("has landmarks, one main heading, and headings that skip no level", () => {
    expectOutline(answer.text);
  });
});

test("what the document says is text to the page, never markup", () => {
  const document = openApi({ "a<b": endpoints.slice(0, 1) }, "https://x.test/?\"'<script>alert(1)</script>");
  const { html } = page(document);
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
