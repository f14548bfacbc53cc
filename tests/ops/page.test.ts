import { utf8ToBytes } from "@noble/hashes/utils.js";
import { describe, expect } from "vitest";
import { domains } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { pages } from "../../scripts/reference/page";
import { expectOutline, styleOf } from "../pages/support";
import { createApp, test } from "../support/app";
import type { Answer } from "../support/world";

const app = () => createApp();
const subjects = Object.keys(domains);

describe("the reference", () => {
  test("has a page a subject that reads like the service's others, and a list of all endpoints", async () => {
    const { get } = app();
    const first = await get("/docs");
    expectSound(first);
    for (const name of subjects) {
      expect(first.text).toContain(`href="/docs/${name}"`);
      const page = await get(`/docs/${name}`);
      expectSound(page);
      expect(page.headers.get("content-security-policy")).toBe(first.headers.get("content-security-policy"));
      for (const { path, methods, errors } of domains[name] ?? []) {
        for (const method of methods) {
          says(page.text, `<code>${method} ${path}</code>`);
          says(first.text, `/docs/${name}#${method.toLowerCase()}${path.replaceAll(/[^A-Za-z0-9]+/g, "-")}"`);
        }
        for (const said of Object.values(errors ?? {}))
          says(page.text, marked(typeof said === "string" ? said : said.when));
      }
    }
    expect((await get("/docs/nothing")).status).toBe(404);
  });

  test("tells of fields", async () => {
    const { text } = await app().get("/docs/wallets");
    for (const field of ["userId", "slippageBps"]) says(text, `<code>${field}</code>`);
  });
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

test("what the document says is text to the page, never markup", () => {
  const document = openApi({ "a<b": domains.market ?? [] }, "https://x.test/?\"'<script>alert(1)</script>");
  for (const html of Object.values(pages(document))) {
    expect(html).not.toContain("<script");
    expect(html).toContain("a&lt;b");
  }
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
