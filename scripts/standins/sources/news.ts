/** Part of the stand-ins for local use: the headlines of the simulated market, in the sites' feeds. */

import type { Call } from "../http";
import type { Context } from "./publicSources";
import { unit } from "../random";

const MINUTE = 60_000;

const HEADLINES = [
  "{name} steadies as traders weigh rate path",
  "Exchange volumes in {name} climb for a second day",
  "Developers of {name} set date for next upgrade",
  "{name} holders sit on gains as volatility fades",
  "Regulator opens consultation on {name} custody rules",
  "Fund managers add {name} exposure, survey finds",
  "Analysts split on {name} after quiet session",
] as const;
const pickFrom = <Item>(items: readonly Item[], ...seeds: (string | number)[]): Item | undefined =>
  items[Math.floor(unit(...seeds) * items.length)];

const prose = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { "Content-Type": "text/html; charset=utf-8" } });

const SITES = {
  "/arc/outboundfeeds/rss/": { title: "CoinDesk", address: "https://www.coindesk.com" },
  "/rss": { title: "Cointelegraph.com News", address: "https://cointelegraph.com" },
  "/feed": { title: "Decrypt", address: "https://decrypt.co" },
} as const;

/** As documented at rssboard.org for RSS 2.0: the site's latest articles, on any subject. */
export function feed({ seed, now, market }: Context, { path }: Call): Response {
  const site = Object.entries(SITES).find(([own]) => own === path)?.[1];
  if (site === undefined) return prose("Not Found", 404);
  const at = now();
  const names = market.coins(at).map(({ name }) => name);
  const items = Array.from({ length: 25 }, (_, index) => {
    const published = Math.floor(at / (20 * MINUTE)) * 20 * MINUTE - index * 40 * MINUTE;
    const name = pickFrom(names.slice(0, 12), seed, site.title, "name", published) ?? "Bitcoin";
    const title = (pickFrom(HEADLINES, seed, site.title, published) ?? HEADLINES[0]).replace("{name}", name);
    const link = `${site.address}/${published / MINUTE}`;
    return [
      "    <item>",
      `      <title><![CDATA[${title}]]></title>`,
      `      <link>${link}?utm_source=rss&amp;utm_medium=feed</link>`,
      `      <guid isPermaLink="false">${link}</guid>`,
      `      <pubDate>${new Date(published).toUTCString().replace("GMT", "+0000")}</pubDate>`,
      `      <dc:creator>Simulated desk</dc:creator>`,
      `      <description><![CDATA[<p>${title}&hellip;</p>]]></description>`,
      "    </item>",
    ].join("\n");
  });
  const text = `<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/">
  <channel>
    <title>${site.title}</title>
    <link>${site.address}</link>
    <description>Simulated headlines</description>
${items.join("\n")}
  </channel>
</rss>
`;
  return new Response(text, { headers: { "Content-Type": "application/xml; charset=utf-8" } });
}
