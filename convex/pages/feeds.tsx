import type { Child } from "hono/jsx";
import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { formatMoney, formatSignedPercent } from "../lib/text/numbers";
import { toIso } from "../lib/time";
import { TITLE } from "../lib/version";
import { readStoredMarket } from "../market/views";
import { toPublicSignal } from "../signals/record";
import { formatNews } from "../whales/cards";
import { renderText } from "../pictures/card";
import { getCoinPath } from "./prices";
import { readWhales } from "./whales";

/** What programs follow: Atom feeds (RFC 4287) of signals and whales, and the addresses of all pages. */

const HEAD = '<?xml version="1.0" encoding="utf-8"?>';
const [ENTRIES, SIGNALS] = [40, 1_000];

/** `id` is unique for ever; `at` is ISO 8601. */
type Entry = { id: string; href: string; title: string; at: string; says: string };

function renderFeed(path: string, title: string, entries: readonly Entry[], now: number): string {
  const site = getSiteUrl();
  const feed = (
    <feed xmlns="http://www.w3.org/2005/Atom">
      <id>{site + path}</id>
      <title>{title}</title>
      <updated>{entries[0]?.at ?? toIso(now)}</updated>
      <author>
        <name>{TITLE}</name>
      </author>
      <link rel="self" href={site + path} />
      {entries.map(({ id, href, title: name, at, says }) => (
        <entry>
          <id>{site + id}</id>
          <title>{name}</title>
          <updated>{at}</updated>
          <link href={site + href} />
          <summary>{says}</summary>
        </entry>
      ))}
    </feed>
  );
  // XML has no control characters, which strangers' words may have.
  return HEAD + renderText(feed).replace(/\p{Cc}/gu, " ");
}

/** The newest signals; a signal's end is an update of its entry. */
export async function buildSignalFeed(ctx: ActionCtx, now: number): Promise<string> {
  const page = { token: null, limit: ENTRIES };
  const { signals } = await ctx.runQuery(internal.signals.history.listSignalPage, page);
  const entries = signals.map(toPublicSignal).map((signal) => {
    const { id, token, signal: side, entry, status, afterCostsPercent, generatedAt, closedAt } = signal;
    const result =
      typeof afterCostsPercent === "number" ? `, ${formatSignedPercent(afterCostsPercent)} after costs` : "";
    const href = `/signals/${id}`;
    const title = `${token}: ${side} at ${formatMoney(entry)}`;
    return { id: href, href, title, at: closedAt ?? generatedAt, says: `${status}${result}` };
  });
  const ordered = entries.toSorted((a, b) => b.at.localeCompare(a.at));
  return renderFeed("/signals/feed.xml", "Signals", ordered, now);
}

export async function buildWhaleFeed(ctx: ActionCtx, now: number): Promise<string> {
  const alerts = await readWhales(ctx, now, ENTRIES);
  const entries = alerts.map((alert) => ({
    id: `/whales#${alert.detectedAt}-${encodeURIComponent(alert.token)}-${alert.alertType}-${alert.amount}`,
    href: "/whales",
    title: formatNews(alert),
    at: toIso(alert.detectedAt),
    says: alert.description,
  }));
  return renderFeed("/whales/feed.xml", "Whales", entries, now);
}

/** The addresses of all pages, with those of coins and of the newest signals. */
export async function buildSitemap(ctx: ActionCtx): Promise<string> {
  const page = { token: null, limit: SIGNALS };
  const { signals } = await ctx.runQuery(internal.signals.history.listSignalPage, page);
  const paths = ["/", "/start", "/record", "/research", "/whales", "/status", "/docs"];
  const coins = [...(await readStoredMarket(ctx)).coins.keys()].map(getCoinPath);
  const all = [...paths, ...coins, ...signals.map((one) => `/signals/${toPublicSignal(one).id}`)];
  const addresses: Child = all.map((path) => (
    <url>
      <loc>{getSiteUrl() + path}</loc>
    </url>
  ));
  return HEAD + renderText(<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{addresses}</urlset>);
}
