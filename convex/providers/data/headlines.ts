import { parseXml, XmlElement } from "@rgrove/parse-xml";
import * as z from "zod";
import { line } from "../../lib/answers";
import { AppError, messageOf } from "../../lib/errors";
import { lazy } from "../../lib/lazy";
import { FEEDS, SOURCE_ADDRESSES, type Feed } from "../../lib/publicSources";
import { DAY, MINUTE } from "../../lib/time";
import { rowsOf } from "../call";
import { askPublic, type Turns } from "./publicData";

/**
 * Headlines of news sites that publish them as a feed, in RSS 2.0 (rssboard.org/rss-specification) or Atom (RFC 4287).
 * Their terms require a headline to name the site and to link to the article.
 */

const PATHS: Record<Feed, string> = {
  coindesk: "/arc/outboundfeeds/rss/",
  cointelegraph: "/rss",
  decrypt: "/feed",
};

/** Clocks may differ; articles dated later than this are ignored. */
const SKEW_MS = MINUTE;

type Headline = {
  title: string;
  url: string;
  domain: string;
  /** Epoch ms. */
  publishedAt: number;
};

/** The day's headlines of all sites, newest first. @throws AppError `upstream` if no site answers */
export async function askHeadlines(turns: Turns, timeoutMs: number): Promise<Headline[]> {
  const settled = await Promise.allSettled(FEEDS.map((feed) => askFeed(turns, feed, timeoutMs)));
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [messageOf(one.reason)] : []));
  if (failures.length === settled.length) throw new AppError("upstream", failures.join("; "));
  return settled
    .flatMap((one) => (one.status === "fulfilled" ? one.value : []))
    .filter(({ publishedAt }) => publishedAt > Date.now() - DAY)
    .sort((a, b) => b.publishedAt - a.publishedAt)
    .filter(({ title }, index, all) => all.findIndex((one) => bare(one.title) === bare(title)) === index);
}

const bare = (title: string) => title.toLowerCase();

const articlesShape = lazy(() =>
  z
    .instanceof(XmlElement)
    .transform((root): unknown[] => entriesIn(root).map(articleOf))
    .pipe(
      rowsOf(
        z.object({
          title: line(200),
          url: z.url({ protocol: /^https?$/ }).max(500),
          publishedAt: z
            .string()
            .transform((date) => Date.parse(date))
            .pipe(z.number()),
        }),
      ),
    ),
);

/** The current entries of a site's feed. @throws AppError `upstream` */
export async function askFeed(turns: Turns, source: Feed, timeoutMs: number): Promise<Headline[]> {
  const request = { path: PATHS[source], read: rootOf, shape: articlesShape() };
  const articles = await askPublic(turns, source, request, timeoutMs);
  const domain = new URL(SOURCE_ADDRESSES[source]).hostname.replace(/^www\./, "");
  return articles
    .filter(({ publishedAt }) => publishedAt <= Date.now() + SKEW_MS)
    .map((article) => ({ ...article, domain }));
}

/** What feeds contain although XML forbids it; and bare ampersands, which stand in CDATA rightly. */
const FORBIDDEN = /(?![\t\n\r])\p{Cc}|[\uFFFE\uFFFF]/gu;
const AMPERSAND = /<!\[CDATA\[.*?\]\]>|&(?!(?:#\d+|#x[\da-f]+|\w+);)/gis;
/** A description may hold HTML that is not well-formed, and nothing of it is used. */
const DESCRIPTION =
  /<(description|summary|content|content:encoded)\b[^>]*>(?:<!\[CDATA\[.*?\]\]>|.)*?<\/\1>/gs;

/** Entities that only HTML knows stay as they are. @throws XmlError */
function rootOf(text: string): XmlElement | null {
  const mended = text
    .trimStart()
    .replace(FORBIDDEN, "")
    .replace(DESCRIPTION, "")
    .replace(AMPERSAND, (found) => (found === "&" ? "&amp;" : found));
  return parseXml(mended, { ignoreUndefinedEntities: true }).root;
}

/** The entries of a feed in any format, wherever they stand in it. */
function entriesIn(within: XmlElement): XmlElement[] {
  return childrenOf(within).flatMap((child) =>
    child.name === "item" || child.name === "entry" ? [child] : entriesIn(child),
  );
}

function childrenOf(within: XmlElement): XmlElement[] {
  return within.children.filter((child) => child instanceof XmlElement);
}

/** An article in either format. */
function articleOf(article: XmlElement): Record<string, string | undefined> {
  const parts = childrenOf(article);
  const textOf = (...names: string[]) =>
    names.flatMap((name) => parts.find((part) => part.name === name)?.text.trim() || [])[0];
  const links = parts.filter(({ name }) => name === "link");
  const link = links.find(({ attributes }) => (attributes["rel"] ?? "alternate") === "alternate");
  return {
    title: textOf("title"),
    url: link?.attributes["href"] ?? link?.text.trim(),
    publishedAt: textOf("pubDate", "published", "dc:date", "updated"),
  };
}
