/** Part of the stand-ins for local use: the headlines of the simulated market, as GDELT finds them and in the sites' feeds. */

import { json, type Call } from "../http";
import { idOf, type Context } from "./publicSources";
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
const DOMAINS = [
  "example-news.com",
  "markets.example",
  "coins.example.org",
  "wire.example.net",
  "ledger.example",
];

const pickFrom = <Item>(items: readonly Item[], ...seeds: (string | number)[]): Item | undefined =>
  items[Math.floor(unit(...seeds) * items.length)];

const prose = (text: string, status = 200): Response =>
  new Response(text, { status, headers: { "Content-Type": "text/html; charset=utf-8" } });

/** A phrase in quotes needs five characters, a word alone three. */
const SHORTEST = { phrase: 5, word: 3 };

/** GDELT's complaint about a query, in its words, with status 200; `null` if there is none. */
function complaintOf(query: string): string | null {
  if (query.trim() === "") return "Your query was too short or too long.\n";
  const phrases = [...query.matchAll(/"([^"]*)"/g)].map(([, phrase = ""]) => phrase.trim());
  if (phrases.some((phrase) => phrase.length < SHORTEST.phrase))
    return "The specified phrase is too short.\n";
  const bare = query.replace(/"[^"]*"/g, "phrase");
  const groups = [...bare.matchAll(/\(([^()]*)\)/g)].map(([, group = ""]) => group);
  if (groups.some((group) => !/\sOR\s/.test(group))) {
    return "Parentheses may only be used around OR'd statements.\n";
  }
  if (/\sOR\s/.test(bare.replace(/\([^()]*\)/g, " "))) {
    return "Queries containing OR'd terms must be surrounded by ().\n";
  }
  const words = bare.split(/[\s()]+/).filter((word) => word !== "" && word !== "OR" && !word.includes(":"));
  const short = words.filter((word) => word.length < SHORTEST.word);
  if (short.length === 0) return null;
  return `One or more of your keywords were too short, too long or too common: (${short.join(" ").toLowerCase()})\n`;
}

/** As documented at blog.gdeltproject.org for the DOC 2.0 API: it reports a bad query in prose, with status 200. */
export function gdelt({ seed, now }: Context, { query }: Call): Response {
  const words = query.get("query") ?? "";
  const complaint = complaintOf(words);
  if (complaint !== null) return prose(complaint);
  if (query.get("format") !== "json" || query.get("mode") !== "artlist") return prose("<html></html>");
  const count = Number(query.get("maxrecords") ?? "75");
  if (!(count >= 1 && count <= 250)) return prose("Invalid maxrecords.\n");
  const name = titled(/"([^"]+)"|[^\s()":]+/.exec(words)?.[0].replaceAll('"', "") ?? "Crypto");
  const at = now();
  const slots = Array.from({ length: Math.min(count, 12) }, (_, index) => index);
  const articles = slots.map((index) => {
    const seen = Math.floor(at / (15 * MINUTE)) * 15 * MINUTE - index * 45 * MINUTE;
    const domain = pickFrom(DOMAINS, seed, name, "domain", seen) ?? DOMAINS[0];
    const title = (pickFrom(HEADLINES, seed, name, "headline", seen) ?? HEADLINES[0]).replace("{name}", name);
    return {
      url: `https://${domain}/${idOf(title)}-${seen / MINUTE}`,
      url_mobile: "",
      title,
      seendate: new Date(seen).toISOString().replace(/[-:]|\.\d+/g, ""),
      socialimage: "",
      domain,
      language: "English",
      sourcecountry: "United States",
    };
  });
  return json({ articles });
}

function titled(name: string): string {
  return name.slice(0, 1).toUpperCase() + name.slice(1);
}

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
