import type { Child } from "hono/jsx";
import { raw } from "hono/html";
import { getSiteUrl } from "../lib/env";
import { Reply } from "../platform/http/endpoint";
import type { Failing } from "../platform/http/router";
import { describeFailure } from "../messenger/format";
import { renderText } from "../pictures/card";
import { typeset } from "../lib/text/numbers";
import { toIso } from "../lib/time";
import { HEADERS, ICON, SCRIPT, STYLE } from "./assets";
import { TITLE, VERSION } from "../lib/version";
import { Moment } from "./parts";

const PLACES = [
  ["/", "Today"],
  ["/record", "Record"],
  ["/research", "Research"],
  ["/whales", "Whales"],
  ["/status", "Status"],
] as const;

const FEEDS: Readonly<Record<string, string>> = {
  "/record": "/signals/feed.xml",
  "/whales": "/whales/feed.xml",
};

export type Page = {
  /** The title of the tab. */
  title: string;
  /** A sentence, for search engines and previews of links. */
  description: string;
  /** The path, by which the list of pages marks the current one. */
  path: string;
  /** The part of its address that makes it another page. */
  query?: string;
  /** From the main heading on. */
  content: Child;
  /** Headers of its own. */
  headers?: Record<string, string>;
  /** The name of its picture for previews of links, at `/pictures/{name}`. */
  picture?: string;
};

/** The site of a page and the time of its making (epoch ms), which a constant page does not show. */
type Made = { site: string; now?: number };

/** A whole page as an answer that caches may store for a minute. @param now Epoch ms. */
export function buildPageReply(page: Page, now: number): Reply<string> {
  return new Reply(renderPage(page, { site: getSiteUrl(), now }), HEADERS);
}

export function renderPage(page: Page, made: Made): string {
  return `<!doctype html>${renderText(<Whole page={page} made={made} />)}`;
}

function Whole({ page, made: { site, now } }: { page: Page; made: Made }) {
  const { title, description, path, query = "", content, picture } = page;
  const feed = FEEDS[path];
  const tab = path === "/" ? `${TITLE}: prices, research and signals` : `${title} · ${TITLE}`;
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{tab}</title>
        <meta name="description" content={description} />
        <meta property="og:type" content="website" />
        <meta property="og:site_name" content={TITLE} />
        <meta property="og:title" content={title} />
        <meta property="og:description" content={description} />
        {path !== "" && <meta property="og:url" content={site + path + query} />}
        {path !== "" && <link rel="canonical" href={site + path + query} />}
        {feed !== undefined && <link rel="alternate" type="application/atom+xml" href={feed} title={title} />}
        {picture !== undefined && <meta property="og:image" content={`${site}/pictures/${picture}`} />}
        {picture !== undefined && <meta name="twitter:card" content="summary_large_image" />}
        <link rel="icon" href={raw(ICON)} />
        <style>{raw(STYLE)}</style>
      </head>
      <body>
        <a class="skip" href="#content">
          Skip to the content
        </a>
        <header class="top">
          <div class="wide">
            <a class="brand" href="/">
              <svg class="mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
                <path d="M1.5 12l4-5 3 3 6-7" />
              </svg>
              <span>{TITLE}</span>
            </a>
            <nav aria-label="Pages">
              <ul>
                {PLACES.map(([href, name]) => (
                  <li>
                    <a href={href} aria-current={href === path ? "page" : undefined}>
                      {name}
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
            <a class="start" href="/start" aria-current={path === "/start" ? "page" : undefined}>
              Start
            </a>
          </div>
        </header>
        <main id="content" class="wide">
          {now === undefined ? content : <Typeset>{content}</Typeset>}
        </main>
        <footer class="wide">
          <p>
            {now !== undefined && (
              <>
                Made <Moment at={toIso(now)} />.{" "}
              </>
            )}
            Each price names its source, what a model said is marked, and nothing here is advice. For
            programs: <a href="/docs">the reference</a>, <a href="/openapi.json">OpenAPI</a>,{" "}
            <a href="/llms.txt">llms.txt</a>, <a href="/health">health</a>. Version {VERSION}.
          </p>
        </footer>
        <script>{raw(SCRIPT)}</script>
      </body>
    </html>
  );
}

/** Sets the figures of all text in one style, whatever its source; attributes stay unchanged. */
function Typeset({ children }: { children: Child }) {
  return raw(renderText(<>{children}</>).replace(/>[^<>]+</g, typeset));
}

const TITLES: Readonly<Record<number, string>> = {
  400: "That cannot be read",
  404: "Nothing is here",
  405: "There is nothing to show here",
  429: "That was too often",
};

/** The page of an error. */
export function buildFailureReply({ status, message }: Failing, now: number): Reply<string> {
  const title = TITLES[status] ?? "That did not work";
  const isUnknown = /^There is no endpoint at /.test(message);
  const text = isUnknown ? "There is no page at this address." : describeFailure(status, message);
  const more = (
    <p>
      Go to <a href="/">today</a>, <a href="/record">the record</a> or <a href="/start">the start</a>.
    </p>
  );
  return buildPageReply(buildNoticePage(title, text, more), now);
}

/** A page of one message. */
export function buildNoticePage(title: string, words: Child, more: Child = null): Page {
  const content = (
    <>
      <h1>{title}</h1>
      <p class="lead">{words}</p>
      {more}
    </>
  );
  return { title, description: title, path: "", content };
}
