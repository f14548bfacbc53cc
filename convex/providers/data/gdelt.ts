import * as z from "zod";
import { lazy } from "../../lib/once";
import { line } from "../../lib/answers/parts";
import { rowsOf } from "../call";
import { askPublic, type Turns } from "./publicData";

/**
 * GDELT's DOC 2.0 API: news articles of the last day that match a query. Documents: blog.gdeltproject.org/
 * gdelt-doc-2-0-api-debuts; free for any use with a citation of the GDELT Project (gdeltproject.org/about.html), one
 * request every 5 seconds. It reports errors in prose, often with status 200: that is an unusable answer here. Rules of
 * its queries: phrases have at least five characters, and brackets only surround terms joined by OR.
 */

export type Article = {
  title: string;
  url: string;
  domain: string;
  /** Epoch ms: when it was published, or when GDELT saw it. */
  seenAt: number;
};

const ARTICLES = 20;
/** The fewest characters of a quoted phrase and of a single word: GDELT refuses shorter ones. */
const SHORTEST_PHRASE = 5;
const SHORTEST_WORD = 3;

/** Without a match, the answer is an object without articles. */
const answerShape = lazy(() => {
  const article = z.object({
    url: z.url({ protocol: /^https?$/ }).max(500),
    title: line(200),
    seendate: z
      .string()
      .regex(/^\d{8}T\d{6}Z$/)
      .transform(epochOf),
    domain: z.string().min(1).max(100),
  });
  return z.object({ articles: rowsOf(article).default([]) });
});

/**
 * A coin's name in a query: a name of several words as a phrase, one word as it is, and a name that is too short for
 * either with a word that makes it a phrase.
 */
export function naming(name: string): string {
  const words = name.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
  if (words.includes(" ") && words.length >= SHORTEST_PHRASE) return `"${words}"`;
  if (words.length >= SHORTEST_WORD && !words.includes(" ")) return words;
  return `("${words} token" OR "${words} crypto" OR "${words} price")`;
}

/** Newest first. @param query Results of `naming`, and further words. @throws AppError `upstream` */
export async function askNews(turns: Turns, query: string, timeoutMs: number): Promise<Article[]> {
  const search = new URLSearchParams({
    query: `${query} sourcelang:english`,
    mode: "artlist",
    format: "json",
    maxrecords: String(ARTICLES),
    timespan: "24h",
    sort: "datedesc",
  });
  const path = `/api/v2/doc/doc?${search.toString()}`;
  const { articles } = await askPublic(turns, "gdelt", { path, shape: answerShape() }, timeoutMs);
  return articles.map(({ title, url, domain, seendate: seenAt }) => ({ title, url, domain, seenAt }));
}

/** `20260105T084500Z` */
function epochOf(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}
