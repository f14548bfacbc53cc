import { Reply } from "../lib/http/endpoint";
import { iso } from "../lib/time";
import { about } from "../ops/reference/about";
import { ICON, pageHeaders } from "../ops/html";
import { VERSION } from "../ops/version";
import { html, Html, typesetWords, type Part } from "./markup";
import { STYLE } from "./style";
import { botLink } from "./parts";
import { moment } from "./words";

/** What all pages share: they load nothing, run nothing, and work as plain HTML. */

const MARK = new Html(
  '<svg class="mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d="M1.5 12l4-5 3 3 6-7"/></svg>',
);

/** The policy names exactly this text. */
const SHEET = new Html(`<style>${STYLE}</style>`);

const HEADERS = pageHeaders(STYLE, "'self'");

const PLACES = [
  ["/", "Today"],
  ["/record", "Record"],
  ["/research", "Research"],
  ["/whales", "Whales"],
  ["/status", "Status"],
  ["/docs", "API"],
] as const;

export type Page = {
  /** The title of the tab and, except on the first page, of the heading. */
  title: string;
  description: string;
  /** The address, so that the list of pages can mark the current one. */
  path: string;
  /** Where programs get the same data: addresses of this service. */
  data: readonly string[];
  /** From the main heading on. */
  content: Part;
};

/** A whole page as an answer that may be kept for a minute. @param now Epoch ms. */
export function pageReply({ title, description, path, data, content }: Page, now: number): Reply<string> {
  const links = PLACES.map(([href, name]) => {
    const current = href === path ? new Html(' aria-current="page"') : null;
    return html`<li><a href="${href}" ${current}>${name}</a></li>`;
  });
  const same = data.map(
    (href, index) => html`${index === 0 ? "" : ", "}<a href="${href}"><code>${href}</code></a>`,
  );
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <meta name="description" content="${description}" />
        <link rel="icon" href="${new Html(ICON)}" />
        ${SHEET}
      </head>
      <body>
        <a class="skip" href="#content">Skip to the content</a>
        <header class="top">
          <div class="wide">
            <a class="brand" href="/">${MARK}<span>${about.info.title}</span></a>
            <nav aria-label="Pages">
              <ul>
                ${links}
              </ul>
            </nav>
          </div>
        </header>
        <main id="content" class="wide">${new Html(typesetWords(html`${content}`.text))}</main>
        <footer class="wide">
          <p>
            Made ${moment(iso(now))}; cached for a minute. Prices name their source, and what a model said is
            marked. Nothing here is advice.
          </p>
          <p>
            ${data.length === 0 ? null : html`The same for programs: ${same}. `}${botLink("Alerts, prices and research in a chat")}
            Version ${VERSION}.
          </p>
        </footer>
      </body>
    </html> `;
  return new Reply(page.text, HEADERS);
}
