import * as z from "zod";
import { AppError } from "../../lib/errors";
import { parseJson } from "../../lib/text/json";
import { escaped, prose } from "../html";

/** The reference as pages for people: an overview, one for each domain, and search results. */

const pageShape = z.object({ title: z.string(), html: z.string() });

const bookShape = z.object({
  /** Before and after each page's content; the title is filled in. */
  head: z.string(),
  foot: z.string(),
  start: pageShape,
  /** By domain. */
  pages: z.record(z.string(), pageShape),
  /** What a search covers. */
  entries: z.array(
    z.object({
      ...{ path: z.string(), href: z.string(), methods: z.string(), summary: z.string() },
      /** All its text, in lower case. */
      words: z.string(),
    }),
  ),
});
export type Book = z.infer<typeof bookShape>;

/** Placeholder of a page's title. */
export const TITLE = "<!--title-->";

const LONGEST_QUERY = 100;
const FOUND = 40;

/** @param written The book, in JSON. @throws AppError `not_found` */
export function shownPage(written: string, url: string): string {
  const { head, foot, start, pages, entries } = bookShape.parse(parseJson(written));
  const { pathname, searchParams } = new URL(url);
  const [, name] = /^\/docs\/([^/]+)$/.exec(pathname) ?? [];
  const query = (searchParams.get("q") ?? "").trim().slice(0, LONGEST_QUERY);
  const page = query !== "" ? results(entries, query) : name === undefined ? start : pages[name];
  if (page === undefined) throw new AppError("not_found", `The reference has no page ${name ?? ""}`);
  return `${head.replace(TITLE, escaped(page.title))}${page.html}${foot}`;
}

/** Entries that contain all words of a query. */
function results(entries: Book["entries"], query: string): z.infer<typeof pageShape> {
  const words = query.toLowerCase().split(/\s+/);
  const found = entries.filter((entry) => words.every((word) => entry.words.includes(word))).slice(0, FOUND);
  const items = found.map(
    ({ href, methods, path, summary }) =>
      `<li><a href="${escaped(href)}"><code>${escaped(methods)} ${escaped(path)}</code></a> ${prose(summary)}</li>`,
  );
  const list = items.length === 0 ? "<p>Nothing has all of these words.</p>" : `<ul>${items.join("")}</ul>`;
  return { title: `Search: ${query}`, html: `<h1>Search: ${escaped(query)}</h1>${list}` };
}
