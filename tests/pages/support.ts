import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { expect } from "vitest";
import { internal } from "../../convex/_generated/api";
import { SCRIPT } from "../../convex/pages/assets";
import type { App } from "../support/app";
import type { Answer } from "../support/world";

/** What the tests of pages share. */

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** As browsers ask. */
export const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
/** What somebody writes who wants to be more than text. */
export const HOSTILE = `<script>alert("x")</script><img src=x onerror='x'>`;

export function openPage(app: App, path: string): Promise<Answer> {
  return app.get(path, { headers: { Accept: BROWSER } });
}

/** A page that answers, loads nothing, runs nothing but its one small script, is small, and can be read in order. @returns Its words. */
export function soundWords({ status, headers, text }: Answer, kept = "public, max-age=60"): string {
  expect([status, headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(headers.get("cache-control")).toBe(kept);
  expect(headers.get("referrer-policy")).toBe("no-referrer");
  expect(utf8ToBytes(text).length).toBeLessThan(50_000);

  const styles = Array.from(text.matchAll(/<style>([\s\S]*?)<\/style>/g), ([, css = ""]) => css);
  expect(styles).toHaveLength(1);
  const scripts = Array.from(text.matchAll(/<script>([\s\S]*?)<\/script>/g), ([, code = ""]) => code);
  expect(scripts.join()).toBe(SCRIPT);
  expect(utf8ToBytes(SCRIPT).length).toBeLessThanOrEqual(2_048);
  const digest = (inline: string) => btoa(String.fromCharCode(...sha256(utf8ToBytes(inline))));
  const policy = headers.get("content-security-policy") ?? "";
  expect(policy.split("; ").toSorted()).toEqual([
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src data:",
    `script-src 'sha256-${digest(SCRIPT)}'`,
    `style-src 'sha256-${digest(styles.join())}'`,
  ]);
  const markup = text.replace(/<style>[\s\S]*?<\/style>/, "").replace(`<script>${SCRIPT}</script>`, "");
  expect(markup).not.toMatch(/<script|<iframe|<img|<object|@import|url\(|<[^>]*\s(?:on\w+|style)=/i);
  const own = markup
    .replace(/<link rel="canonical" href="https:\/\/some\.convex\.site\/[^"]*"\/>/, "")
    .replaceAll(/<a href="https:\/\/[^"]*" rel="noopener nofollow">/g, "<a>");
  for (const [, target = ""] of own.matchAll(/\s(?:href|src|action)="([^"]*)"/g)) {
    expect(target).toMatch(/^(?:#\w|\/(?!\/)|data:image\/svg\+xml,)/);
  }

  expectOutline(markup);
  const ids = Array.from(markup.matchAll(/\sid="([^"]+)"/g), ([, id = ""]) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const [, id = ""] of markup.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(id);
  const named = Array.from(markup.matchAll(/aria-labelledby="([^"]+)"/g), ([, list = ""]) => list.split(" "));
  expect(named.flat().filter((id) => !ids.includes(id))).toEqual([]);
  const charts = markup.match(/<svg class="chart[^>]*>/g) ?? [];
  for (const one of charts) expect(one).toMatch(/role="img" aria-labelledby|aria-hidden="true"/);
  expect(markup).not.toMatch(/NaN|Infinity|undefined|\[object/);
  return wordsOf(markup);
}

/** A page has each of its landmarks once, one main heading, and headings that skip no level. */
function expectOutline(markup: string): void {
  const levels = Array.from(markup.matchAll(/<h([1-6])[\s>]/g), ([, level]) => Number(level));
  expect(levels.filter((level) => level === 1)).toHaveLength(1);
  for (const [at, level] of levels.entries()) expect(level - (levels[at - 1] ?? 0)).toBeLessThanOrEqual(1);
  for (const part of ['<html lang="en">', "<main ", "<nav ", '<a class="skip" href="#content">', "<h1"])
    expect([part, markup.split(part).length]).toEqual([part, 2]);
}

/** What is to be read: without tags, entities as their letters, blanks as one. */
function wordsOf(markup: string): string {
  return markup
    .replace(/<[^>]*>/g, " ")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")
    .replace(/\s+/g, " ");
}

/** A page is too long to be shown by what it lacks. */
export function says(words: string, ...parts: readonly (string | number)[]): void {
  const lacking = parts
    .map((part) => String(part).replace(/\s+/g, " "))
    .filter((part) => !words.includes(part));
  expect(lacking).toEqual([]);
}

/** A measured price of both tokens every half hour, as the cron stores them, with the time passing. */
export async function samplePrices(app: App, prices: readonly number[]): Promise<void> {
  for (const priceUsd of prices) {
    for (const token of ["BTC", "ETH"] as const) {
      const sample = { token, priceUsd, source: "chainlink" as const, observedAt: Date.now() - 5_000 };
      await app.t.mutation(internal.market.samples.storeSample, sample);
    }
    await app.advance(30 * MINUTE);
  }
}
