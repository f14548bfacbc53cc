import { parseXml, XmlElement, type XmlDocument } from "@rgrove/parse-xml";
import * as z from "zod";
import { lazy } from "../../lib/once";
import { SOURCE_ADDRESSES, type Feed } from "../../lib/publicSources";
import { line } from "../../lib/answers/parts";
import { SECOND } from "../../lib/time";
import { rowsOf } from "../call";
import type { Article } from "./gdelt";
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
const SKEW_MS = 60 * SECOND;

const articlesShape = lazy(() =>
  z
    .instanceof(XmlElement)
    .transform((root): unknown[] => elementsOf(root, root.name === "feed" ? "entry" : "item").map(articleOf))
    .pipe(
      rowsOf(
        z.object({
          title: line(200),
          url: z.url({ protocol: /^https?$/ }).max(500),
          seenAt: z
            .string()
            .transform((date) => Date.parse(date))
            .pipe(z.number()),
        }),
      ),
    ),
);

/** The current entries of a site's feed, newest first. @throws AppError `upstream` */
export async function askFeed(turns: Turns, source: Feed, timeoutMs: number): Promise<Article[]> {
  const request = { path: PATHS[source], read: rootOf, shape: articlesShape() };
  const articles = await askPublic(turns, source, request, timeoutMs);
  const domain = new URL(SOURCE_ADDRESSES[source]).hostname.replace(/^www\./, "");
  return articles
    .filter(({ seenAt }) => seenAt <= Date.now() + SKEW_MS)
    .map((article) => ({ ...article, domain }))
    .sort((a, b) => b.seenAt - a.seenAt);
}

/** Entities that only HTML knows stay as they are. @throws XmlError if the text is not well-formed */
function rootOf(text: string): XmlElement | null {
  const document: XmlDocument = parseXml(text.trimStart(), { ignoreUndefinedEntities: true });
  return document.root;
}

/** Descendant elements with a name, including RSS 1.0's, which stand beside the channel. */
function elementsOf(within: XmlElement, name: string): XmlElement[] {
  return childrenOf(within).flatMap((child) => {
    if (child.name === name) return [child];
    return child.name === "channel" ? elementsOf(child, name) : [];
  });
}

function childrenOf(within: XmlElement): XmlElement[] {
  return within.children.filter((child) => child instanceof XmlElement);
}

/** An article in either format. */
function articleOf(article: XmlElement): { title?: string; url?: string; seenAt?: string } {
  const parts = childrenOf(article);
  const textOf = (...names: string[]) =>
    names.flatMap((name) => parts.find((part) => part.name === name)?.text.trim() || [])[0];
  const links = parts.filter(({ name }) => name === "link");
  const link = links.find(({ attributes }) => (attributes["rel"] ?? "alternate") === "alternate");
  const url = link?.attributes["href"] ?? link?.text.trim();
  const title = textOf("title");
  const seenAt = textOf("pubDate", "published", "dc:date", "updated");
  return {
    ...(title === undefined ? {} : { title }),
    ...(url === undefined ? {} : { url }),
    ...(seenAt === undefined ? {} : { seenAt }),
  };
}
