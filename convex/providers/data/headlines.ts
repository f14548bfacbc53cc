import { deadlines } from "../../lib/outside/deadlines";
import { AppError, messageOf } from "../../lib/errors";
import { FEEDS, SOURCE_NAMES } from "../../lib/publicSources";
import { DAY } from "../../lib/time";
import { askNews, naming, type Article } from "./gdelt";
import type { Turns } from "./publicData";

/** The day's headlines, from GDELT and the sites' own feeds: if one fails, the other remains. */

const HEADLINES = 6;

/** `by`: the source that found it, by its name for readers. */
type Headline = Article & { by: string };

/**
 * Newest first, one per domain.
 * @param names The coin's names in the news, first the one to search for; none for the whole market.
 * @param isKnown Whether that name alone can only mean the coin.
 * @throws AppError `upstream`
 */
export async function askHeadlines(
  ctx: Turns,
  names: readonly string[],
  isKnown: boolean,
): Promise<Headline[]> {
  const { askFeed } = await import("./feeds");
  const [name = "cryptocurrency"] = names;
  const isPlain = isKnown || names.length === 0;
  const query = isPlain ? naming(name.toLowerCase()) : `${naming(name)} (crypto OR cryptocurrency)`;
  const settled = await Promise.allSettled([
    askNews(ctx, query, deadlines.news),
    ...FEEDS.map(async (feed) => {
      const articles = await askFeed(ctx, feed, deadlines.publicData);
      return articles.filter(({ title, seenAt }) => seenAt > Date.now() - DAY && namesOne(title, names));
    }),
  ]);
  const failures = settled.flatMap((one) => (one.status === "rejected" ? [messageOf(one.reason)] : []));
  if (failures.length === settled.length) throw new AppError("upstream", failures.join("; "));
  const [searched = [], ...fed] = settled.map((one) => (one.status === "fulfilled" ? one.value : []));
  const byGdelt = (one: Article) => ({ ...one, by: `${one.domain}, found by ${SOURCE_NAMES.gdelt}` });
  const byItself = (one: Article) => ({ ...one, by: one.domain });
  return [...ofEachDomain(searched.map(byGdelt)), ...ofEachDomain(fed.flat().map(byItself))]
    .filter(isFirst)
    .sort((a, b) => b.seenAt - a.seenAt)
    .slice(0, HEADLINES);
}

const isFirst = (one: Article, index: number, all: readonly Article[]): boolean =>
  all.findIndex(({ title }) => title.toLowerCase() === one.title.toLowerCase()) === index;

/** Whether a headline mentions a coin: its name in any case, its symbol in capitals. */
function namesOne(title: string, names: readonly string[]): boolean {
  const words = ` ${title.replace(/[^\p{L}\p{N}]+/gu, " ")} `;
  const within = (name: string) => ` ${name.replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;
  return (
    names.length === 0 ||
    names.some((name) => words.includes(within(name))) ||
    (names.length > 1 && words.toLowerCase().includes(within(names[0] ?? "").toLowerCase()))
  );
}

function ofEachDomain(articles: readonly Headline[]): Headline[] {
  const newest = [...articles].sort((a, b) => b.seenAt - a.seenAt);
  return newest.filter((one, index) => newest.findIndex(({ domain }) => domain === one.domain) === index);
}
