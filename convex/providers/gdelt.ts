import * as z from "zod";
import { lazy } from "../lib/once";
import { line } from "../lib/shapes";
import { askPublic, type Turns } from "./publicData";

/**
 * GDELT's DOC 2.0 API: news articles of the last day that match a query. Documents: blog.gdeltproject.org/
 * gdelt-doc-2-0-api-debuts; free for any use with a citation of the GDELT Project (gdeltproject.org/about.html), one request
 * every 5 seconds. What it cannot answer it says in prose, often with status 200: that is an unusable answer here.
 */

export type Article = {
  title: string;
  url: string;
  domain: string;
  /** Epoch ms: when GDELT saw it. */
  seenAt: number;
};

const ARTICLES = 20;
const SHOWN = 6;

/** Without a match the answer is an object without articles. */
const answerShape = lazy(() => z.object({ articles: z.array(z.unknown()).default([]) }));
const articleShape = lazy(() =>
  z.object({
    url: z.url({ protocol: /^https?$/ }).max(500),
    title: line(200),
    seendate: z
      .string()
      .regex(/^\d{8}T\d{6}Z$/)
      .transform(epochOf),
    domain: z.string().min(1).max(100),
  }),
);

/** At most six, newest first, one of each domain and title. @throws AppError `upstream` */
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
  const read = articles.flatMap((one): Article[] => {
    const parsed = articleShape().safeParse(one);
    if (!parsed.success) return [];
    const { title, url, domain, seendate: seenAt } = parsed.data;
    return [{ title, url, domain, seenAt }];
  });
  const first = (key: (one: Article) => string) => (one: Article, index: number, all: Article[]) =>
    all.findIndex((other) => key(other) === key(one)) === index;
  return read
    .filter(first(({ domain }) => domain))
    .filter(first(({ title }) => title.toLowerCase()))
    .slice(0, SHOWN);
}

/** `20260105T084500Z` */
function epochOf(text: string): number {
  return Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"));
}
