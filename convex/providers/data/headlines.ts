import { parseXml, XmlElement } from "@rgrove/parse-xml";
import * as z from "zod";
import { shortLine } from "../../figures/answers";
import { AppError, getErrorMessage } from "../../lib/errors";
import { once } from "../../lib/lazy";
import { NEWS_FEEDS, SOURCE_ADDRESSES, type Feed } from "../../figures/publicSources";
import { isForAssistants } from "./quoted";
import { withoutControls, withoutEntities, withoutTags } from "../../lib/text/markup";
import { DAY, MINUTE } from "../../lib/time";
import { rowsShape } from "../call";
import { askPublic, type RateLimitTurns } from "./publicData";

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
export async function askHeadlines(turns: RateLimitTurns, timeoutMs: number): Promise<Headline[]> {
  const results = await Promise.allSettled(NEWS_FEEDS.map((feed) => askFeed(turns, feed, timeoutMs)));
  const failures = results.flatMap((one) => (one.status === "rejected" ? [getErrorMessage(one.reason)] : []));
  if (failures.length === results.length) throw new AppError("upstream", failures.join("; "));
  return results
    .flatMap((one) => (one.status === "fulfilled" ? one.value : []))
    .filter(({ publishedAt }) => publishedAt > Date.now() - DAY)
    .sort((a, b) => b.publishedAt - a.publishedAt)
    .filter(({ title }, index, all) => all.findIndex((one) => toBare(one.title) === toBare(title)) === index);
}

const toBare = (title: string) => title.toLowerCase();

const articlesShape = once(() =>
  z
    .instanceof(XmlElement)
    .transform((root): unknown[] => listEntries(root).map(readArticle))
    .pipe(
      rowsShape(
        z.object({
          title: shortLine(200),
          url: z.url({ protocol: /^https?$/ }).max(500),
          publishedAt: z
            .string()
            .transform((date) => Date.parse(date))
            .pipe(z.number()),
        }),
      ),
    ),
);

/** The usable entries of a feed's text. @throws Error for a text that is no feed */
export const parseArticles = (text: string) => articlesShape().parse(parseRoot(text));

/** The current entries of a site's feed. @throws AppError `upstream` */
export async function askFeed(turns: RateLimitTurns, source: Feed, timeoutMs: number): Promise<Headline[]> {
  const request = { path: PATHS[source], read: parseRoot, shape: articlesShape() };
  const articles = await askPublic(turns, source, request, timeoutMs);
  const domain = new URL(SOURCE_ADDRESSES[source]).hostname.replace(/^www\./, "");
  return articles
    .filter(({ title, publishedAt }) => publishedAt <= Date.now() + SKEW_MS && !isForAssistants(title))
    .map((article) => ({ ...article, domain }));
}

/** What feeds contain although XML forbids it. */
const FORBIDDEN = /(?![\t\n\r])\p{Cc}|[\uFFFE\uFFFF]/gu;
const BARE = /&(?!(?:#\d{1,7}|#x[\da-f]{1,6}|\w{1,32});)/gi;

/** A feed that is not well-formed is read entry by entry. Entities that only HTML knows stay as they are. @throws XmlError */
function parseRoot(text: string): XmlElement | null {
  const safe = unwrapSections(text.trimStart().replace(FORBIDDEN, ""));
  try {
    return parseRootElement(safe);
  } catch {
    return parseRootElement(`<feed>${cutEntries(safe).join("")}</feed>`);
  }
}

const parseRootElement = (text: string) => parseXml(text, { ignoreUndefinedEntities: true }).root;

/** CDATA sections as escaped text, so that markup in them is not the feed's. */
function unwrapSections(text: string): string {
  const [head = "", ...sections] = text.split("<![CDATA[");
  const escaped = sections.map((section) => {
    const end = section.indexOf("]]>");
    if (end === -1) return section;
    const within = section.slice(0, end).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    return within + section.slice(end + 3).replace(BARE, "&amp;");
  });
  return head.replace(BARE, "&amp;") + escaped.join("");
}

const MOST_ENTRIES = 300;
/** The parts of an entry that are used; its description may hold HTML that is none. */
const PARTS = ["title", "link", "pubDate", "published", "dc:date", "updated"];

/** The entries of a feed, each with those of its parts that are well-formed. */
function cutEntries(feed: string): string[] {
  const [, ...entries] = feed.split(/<(?:item|entry)(?=[\s>])/, MOST_ENTRIES);
  return entries.map((entry) => {
    const within = entry.split(/<\/(?:item|entry)>/, 1)[0] ?? "";
    const parts = PARTS.map((name) => findElementText(within, name)).filter((part) => {
      try {
        return parseRootElement(part) !== null;
      } catch {
        return false;
      }
    });
    return `<item>${parts.join("")}</item>`;
  });
}

/** The first element of this name; "" for none. */
function findElementText(within: string, name: string): string {
  const start = within.indexOf(`<${name}`);
  const close = within.indexOf(">", start);
  if (start === -1 || close === -1 || !/[\s/>]/.test(within.charAt(start + name.length + 1))) return "";
  if (within[close - 1] === "/") return within.slice(start, close + 1);
  const end = within.indexOf(`</${name}>`, start);
  return end === -1 ? "" : within.slice(start, end + name.length + 3);
}

/** How deep a feed's entries may stand. */
const MAX_DEPTH = 4;

/** The entries of a feed in any format. */
function listEntries(within: XmlElement, depth = 0): XmlElement[] {
  return listChildren(within).flatMap((child) =>
    /^(?:item|entry)$/.test(getName(child))
      ? [child]
      : depth < MAX_DEPTH
        ? listEntries(child, depth + 1)
        : [],
  );
}

/** The name of an element without its prefix, in small letters: `atom:entry`, `rss:item`, `ITEM`. */
const getName = ({ name }: XmlElement): string => name.toLowerCase().replace(/^(?:rss|atom|rdf):/, "");

function listChildren(within: XmlElement): XmlElement[] {
  return within.children.filter((child) => child instanceof XmlElement);
}

/** An article in either format. */
function readArticle(article: XmlElement): Record<string, string | undefined> {
  const parts = listChildren(article);
  const about = article.attributes["rdf:about"];
  const readText = (...names: string[]) =>
    names.flatMap((name) => parts.find((part) => getName(part) === name)?.text.trim() || [])[0];
  const links = parts.filter((part) => getName(part) === "link");
  const link = links.find(({ attributes }) => (attributes["rel"] ?? "alternate") === "alternate");
  return {
    // Feeds encode titles twice about as often as once.
    title: withoutTags(withoutControls(withoutEntities(readText("title") ?? ""))),
    url: withoutEntities(
      (link?.attributes["href"] ?? link?.text.trim()) || (readText("guid", "id") ?? about ?? ""),
    ).replace(/^\/\//, "https://"),
    publishedAt: readText("pubdate", "published", "dc:date", "updated"),
  };
}
