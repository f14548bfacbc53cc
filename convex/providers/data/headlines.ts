import { parseXml, XmlElement, type XmlDocument } from "@rgrove/parse-xml";
import * as z from "zod";
import { line } from "../../lib/answers/parts";
import { AppError, messageOf } from "../../lib/errors";
import { lazy } from "../../lib/once";
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
const HEADLINES = 6;

type Headline = {
  title: string;
  url: string;
  domain: string;
  /** Epoch ms. */
  publishedAt: number;
};

/**
 * The day's headlines of all sites, newest first.
 * @param names A coin's names, of which a headline has to have one; none for the whole market.
 * @throws AppError `upstream` if no site answers
 */
export async function askHeadlines(
  turns: Turns,
  names: readonly string[],
  timeoutMs: number,
): Promise<Headline[]> {
  const settled = await Promise.allSettled(FEEDS.map((feed) => askFeed(turns, feed, timeoutMs)));
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [messageOf(one.reason)] : []));
  if (failures.length === settled.length) throw new AppError("upstream", failures.join("; "));
  return settled
    .flatMap((one) => (one.status === "fulfilled" ? one.value : []))
    .filter(({ title, publishedAt }) => publishedAt > Date.now() - DAY && namesOne(title, names))
    .sort((a, b) => b.publishedAt - a.publishedAt)
    .filter(({ title }, index, all) => all.findIndex((one) => bare(one.title) === bare(title)) === index)
    .slice(0, HEADLINES);
}

const bare = (title: string) => title.toLowerCase();

/** Whether a headline mentions a coin: its name in any case, its symbol in capitals. */
function namesOne(title: string, names: readonly string[]): boolean {
  const words = (text: string) => ` ${text.replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;
  const [name = ""] = names;
  return (
    names.length === 0 ||
    names.some((one) => words(title).includes(words(one))) ||
    (names.length > 1 && words(title).toLowerCase().includes(words(name).toLowerCase()))
  );
}

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

/** What feeds contain although XML forbids it. */
const FORBIDDEN = /(?![\t\n\r])\p{Cc}|[\uFFFE\uFFFF]/gu;
const BARE_AMPERSAND = /&(?!(?:#\d+|#x[\da-f]+|\w+);)/gi;
/** A description may hold HTML that is not well-formed, and nothing of it is used. */
const DESCRIPTION =
  /<(description|summary|content|content:encoded)\b[^>]*>(?:<!\[CDATA\[.*?\]\]>|.)*?<\/\1>/gs;

/** Entities that only HTML knows stay as they are. A text with slips is mended once. @throws XmlError */
function rootOf(text: string): XmlElement | null {
  const read = (xml: string): XmlDocument => parseXml(xml, { ignoreUndefinedEntities: true });
  const trimmed = text.trimStart();
  try {
    return read(trimmed).root;
  } catch {
    const mended = trimmed.replace(FORBIDDEN, "").replace(DESCRIPTION, "").replace(BARE_AMPERSAND, "&amp;");
    return read(mended).root;
  }
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
