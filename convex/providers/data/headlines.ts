import { Parser } from "htmlparser2";
import * as z from "zod";
import { shortLine } from "../../figures/answers";
import { AppError, getErrorMessage } from "../../lib/errors";
import { once } from "../../lib/objects";
import { NEWS_FEEDS, SOURCE_ADDRESSES, type Feed } from "../../figures/publicSources";
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
);

/** The usable articles of a feed's text. @throws ZodError if most are malformed */
export const parseArticles = (text: string) => articlesShape().parse(readArticles(text));

/** The current entries of a site's feed. @throws AppError `upstream` */
export async function askFeed(turns: RateLimitTurns, source: Feed, timeoutMs: number): Promise<Headline[]> {
  const request = { path: PATHS[source], read: readArticles, shape: articlesShape() };
  const articles = await askPublic(turns, source, request, timeoutMs);
  const domain = new URL(SOURCE_ADDRESSES[source]).hostname.replace(/^www\./, "");
  return articles
    .filter(({ title, publishedAt }) => publishedAt <= Date.now() + SKEW_MS && !isForAssistants(title))
    .map((article) => ({ ...article, domain }));
}

/** Characters in feeds that XML forbids. */
const FORBIDDEN = /(?![\t\n\r])\p{Cc}|[\uFFFE\uFFFF]/gu;
const ENTRY = /^(?:item|entry)$/;
/** No feed nests deeper, and the parser's time grows with the square of the depth. */
const MAX_DEPTH = 100;

type Entry = {
  about: string | undefined;
  parts: { name: string; attributes: Record<string, string>; text: string }[];
};

/** The entries of a feed in any format, well-formed or not. Names are in small letters, without a prefix. */
function listEntries(text: string): Entry[] {
  const entries: Entry[] = [];
  let depth = 0;
  let entryDepth = Infinity;
  const reader = {
    onopentag(tag: string, attributes: Record<string, string>) {
      depth += 1;
      if (depth > MAX_DEPTH) throw new Error("This is no feed");
      const name = tag.replace(/^(?:rss|atom|rdf):/, "");
      if (ENTRY.test(name)) {
        entries.push({ about: attributes["rdf:about"], parts: [] });
        entryDepth = depth;
      } else if (depth === entryDepth + 1) entries.at(-1)?.parts.push({ name, attributes, text: "" });
    },
    ontext(words: string) {
      const part = entries.at(-1)?.parts.at(-1);
      if (part !== undefined && depth > entryDepth) part.text += words;
    },
    onclosetag() {
      depth -= 1;
      if (depth < entryDepth) entryDepth = Infinity;
    },
  };
  const options = { xmlMode: true, lowerCaseTags: true, lowerCaseAttributeNames: true };
  new Parser(reader, options).end(text.replace(FORBIDDEN, ""));
  return entries;
}

function readArticle({ about, parts }: Entry): Record<string, string | undefined> {
  const listNamed = (name: string) => parts.filter((part) => part.name === name);
  const readText = (...names: string[]) =>
    names
      .flatMap(listNamed)
      .map(({ text }) => text.trim())
      .find((text) => text !== "");
  const link = listNamed("link").find(({ attributes }) => (attributes["rel"] ?? "alternate") === "alternate");
  const url = (link?.attributes["href"] ?? link?.text.trim()) || (readText("guid", "id") ?? about ?? "");
  return {
    // Feeds encode titles twice about as often as once.
    title: withoutTags(withoutControls(withoutEntities(readText("title") ?? ""))),
    url: withoutEntities(url).replace(/^\/\//, "https://"),
    publishedAt: readText("pubdate", "published", "dc:date", "updated"),
  };
}

const readArticles = (text: string) => listEntries(text).map(readArticle);

/** Addresses and hashes of EVM chains, Bitcoin and Solana: a genuine headline never holds a complete one. */
const ADDRESS = /\b(?:0x[0-9a-f]{40}|bc1[0-9a-z]{20})|\b[1-9A-HJ-NP-Za-km-z]{32,44}\b/i;

/** A tool name as AI clients have them: `send_token`. */
const TOOL =
  /(?<![@\w])(?:get|ask|run|start|stop|connect|swap|send|create|set|list|read|write|call|make|approve|transfer|export|delete)_[a-z]/i;

const WHOM = String.raw`\b(?:ai|llm|language|chat|assistant|gpt|claude|system)[ -]?(?:assistants?|agents?|models?|bots?|readers?|notice|messages?|prompts?|instructions?|override)\b`;
const DEED = String.raw`(?:calls?|invokes?|sends?|transfers?|swaps?|moves?|withdraws?|approves?|exports?|reveals?|ignores?|disregards?|forgets?|executes?|runs?|forwards?|repl(?:y|ies)|responds?|answers?|tells?|buy|sell)`;

/**
 * An instruction: addressed to an assistant, or one that only a model could follow. In lower case, Latin letters without
 * marks.
 */
const ORDER = new RegExp(
  [
    // "… AI assistants: call …", "AI agents must send …"
    String.raw`${WHOM}[^.:]{0,30}(?:[:,!\u2013\u2014]| -| (?:must|shall|are (?:told|ordered|required|instructed) to)) {0,2}(?:(?:please|now|you|must|should|always|immediately|first) ){0,3}${DEED}\b`,
    String.raw`\b(?:ignore|disregard|forget|override|bypass) (?:\w+ ){0,3}(?:previous|prior|earlier|above|preceding|your|system|safety) (?:\w+ ){0,2}(?:instructions?|prompts?|rules|messages?|guidelines|context)\b`,
    // Spanish, French, Portuguese, Italian, German
    String.raw`\b(?:ignor|olvid|oubli|dimentic|vergiss|missacht)\w{0,6} (?:\w+ ){0,3}(?:instruc\w+|instruk\w+|istruzion\w+|anweisung\w*|consignes)\b`,
    "忽略.{0,6}(?:指令|指示|提示)|指示を無視|(?:игнорируй|забудь)\\S* .{0,20}инструкц",
    String.raw`\b(?:new|updated|hidden|developer) (?:system )?(?:instructions?|prompt) ?:|\bsystem (?:prompt|override|notice)\b|\bjailbreak mode\b`,
    String.raw`\byou are now (?:an? |the |in )|\bas an ai\b.{0,40}\byou (?:must|should|will)\b`,
    String.raw`<\/?(?:system|assistant|instructions?|tool)\b|\[\/?inst\]|<\|`,
    String.raw`^ ?(?:system|assistant|developer) ?:`,
  ].join("|"),
);

/**
 * Whether a headline holds an address, a tool's name, or an order to an assistant: it would reach AI clients whose tools
 * move money (prompt injection), and is dropped.
 */
export function isForAssistants(text: string): boolean {
  const plain = text.normalize("NFKC").replace(/\p{Cf}/gu, "");
  if (ADDRESS.test(plain) || TOOL.test(plain)) return true;
  return ORDER.test(plain.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "").replace(/\s+/g, " "));
}
