import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { beforeEach, describe, expect } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { openApi } from "../../scripts/reference/document";
import { page } from "../../scripts/reference/page";
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
    expect(text).not.toMatch(
      /<script|<iframe|<img|<form|<link rel="stylesheet"|@import|url\(|\son\w+=|\sstyle=/i,
    );
    for (const [, target = ""] of text.matchAll(/(?:href|src)="([^"]*)"/g)) {
      expect(target).toMatch(/^(?:#|\/openapi\.json$|data:image\/svg\+xml,)/);
    }
  });

  test("has the one style that its policy names", () => {
    const styles = Array.from(answer.text.matchAll(/<style>([\s\S]*?)<\/style>/g), ([, css = ""]) => css);
    expect(styles).toHaveLength(1);
    const digest = btoa(String.fromCharCode(...sha256(utf8ToBytes(styles[0] ?? ""))));
    expect(answer.headers.get("content-security-policy")).toContain(`style-src 'sha256-${digest}'`);
    expect(styles[0]).toContain("prefers-color-scheme: dark");
  });

  test("tells of every endpoint, its failures and its fields, and its links lead somewhere", () => {
    const { text } = answer;
    for (const { path, errors } of endpoints) {
      says(text, `<code>${path}</code></a></h3>`);
      for (const said of Object.values(errors ?? {})) {
        const when = typeof said === "string" ? said : said.when;
        says(text, marked(when));
      }
    }
    for (const field of [
      "userId",
      "slippageBps",
      "telegramChatId",
      "top20[].<wbr>marketCap",
      "event.<wbr>activity[].<wbr>hash",
    ]) {
      says(text, `<code>${field}</code>`);
    }
    const ids = Array.from(text.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const targets = Array.from(text.matchAll(/(?:href="#|aria-labelledby=")([^"]+)"/g), ([, id = ""]) => id);
    expect(targets.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("has landmarks, one main heading, and headings that skip no level", () => {
    const { text } = answer;
    for (const part of [
      '<html lang="en">',
      "<main ",
      '<nav aria-label="',
      '<a class="skip" href="#content">',
    ]) {
      expect(text.split(part)).toHaveLength(2);
    }
    const levels = Array.from(text.matchAll(/<h([1-6])[\s>]/g), ([, level]) => Number(level));
    expect(levels.filter((level) => level === 1)).toHaveLength(1);
    levels.reduce((before, level) => {
      expect(level - before).toBeLessThanOrEqual(1);
      return level;
    }, 0);
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
