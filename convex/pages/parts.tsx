import type { Child } from "hono/jsx";
import { isSet, getOptional } from "../lib/env";
import { formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { DAY, formatDateTime, HOUR, toIso, MINUTE } from "../lib/time";
import { ENDINGS } from "../signals/rules";
import type { PublicSignal } from "../signals/shapes";
import type { PublicAlert } from "../whales/tables";
import { getAddedDescription, getExplorerUrl, formatNews } from "../whales/cards";
import { toSafeUrl } from "../messenger/format";
import { getWay, QrCode } from "../pictures/card";

/** Components and texts that several pages share. */

/** A link to the purchase of a report, if this deployment has a wallet for payments. */
export function OrBuy({ children }: { children: Child }) {
  const link = <a href="/start#buy">{children}</a>;
  return isSet("PLATFORM_WALLET_ADDRESS") ? <>, or {link}</> : null;
}

/** A figure in words, or `none` without one. */
export function formatOrNone(
  value: number | null,
  words: (value: number) => string,
  none = "none yet",
): string {
  return value === null ? none : words(value);
}

/** `just now`, `3 minutes ago`, `5 days ago`. */
function formatAge(at: number, now: number): string {
  const distance = now - at;
  if (distance < MINUTE) return "just now";
  const [size, word]: [number, string] =
    distance < 2 * HOUR ? [MINUTE, "minute"] : distance < 2 * DAY ? [HOUR, "hour"] : [DAY, "day"];
  return `${formatCount(Math.round(distance / size), word)} ago`;
}

/** `20 Nov 2026, 15:30 UTC` for people and programs. */
export function Moment({ at }: { at: string }) {
  return <time datetime={at}>{formatDateTime(Date.parse(at))}</time>;
}

/** The age of a moment, with the moment itself as its tooltip. */
export function Since({ at, now }: { at: string; now: number }) {
  return (
    <time datetime={at} title={formatDateTime(Date.parse(at))}>
      {formatAge(Date.parse(at), now)}
    </time>
  );
}

/** The placeholder of missing content: what will appear here, and when or how. */
export function Empty({ children }: { children: Child }) {
  return <p class="empty">{children}</p>;
}

const MARKS = { up: "▲", down: "▼", flat: "■", neutral: "●" } as const;

/** Text with its direction as a shape, not only as a colour: `▲ BUY`. */
function Way({ kind, way, children }: { kind: string; way: keyof typeof MARKS; children: Child }) {
  return (
    <span class={`${kind} ${way}`}>
      <span aria-hidden="true">{MARKS[way]}</span> {children}
    </span>
  );
}

export function Change({ value }: { value: number | null }) {
  return value === null ? null : (
    <Way kind="change" way={getWay(value)}>
      {formatSignedPercent(value)}
    </Way>
  );
}

const WAYS = {
  BUY: "up",
  SELL: "down",
  HOLD: "flat",
  bullish: "up",
  bearish: "down",
  neutral: "neutral",
} as const;

/** `▲ BUY`, `● neutral`. */
export function Side({ side, kind = "tag" }: { side: keyof typeof WAYS; kind?: string }) {
  return (
    <Way kind={kind} way={WAYS[side]}>
      {side}
    </Way>
  );
}

/** `won +1.05 %` after costs, `open`, `expired without a price`. */
export function Ending({ signal: { signal, status, ...of } }: { signal: PublicSignal }) {
  const unpriced = of.exitPrice === null && signal !== "HOLD" ? " without a price" : "";
  const result =
    typeof of.afterCostsPercent === "number" ? ` ${formatSignedPercent(of.afterCostsPercent)}` : unpriced;
  return <span class={status.toLowerCase()}>{ENDINGS[status] + result}</span>;
}

/** The bot's address; `null` without a bot. */
function getBotUrl(): string | null {
  const bot = getOptional("MESSENGER_BOT_NAME");
  return bot === undefined ? null : `https://t.me/${bot}`;
}

/**
 * A link to the bot as a button; without a bot, to the ways in.
 * @param start What the bot begins with: `signals`, `whales`, `price_SOL`; a payload takes no other signs.
 */
export function OpenBot({ start = "", children }: { start?: string; children: Child }) {
  const url = getBotUrl();
  const query = /^[\w-]{1,64}$/.test(start) ? `?start=${start}` : "";
  return (
    <span class="open">
      {url === null ? <a href="/start">{children}</a> : <Out to={url + query}>{children}</Out>}
    </span>
  );
}

/** The bot's address to scan, which a phone hides; nothing without a bot. */
export function BotCode() {
  const url = getBotUrl();
  return url === null ? null : (
    <figure class="scan">
      <QrCode text={url} role="img" aria-label={`QR code of ${url}`} />
      <figcaption>Scan for the bot</figcaption>
    </figure>
  );
}

type Neighbour = { href: string; name: string } | null;

/** The way back and on in a sequence of pages. */
export function Pager({ back, on }: { back: Neighbour; on: Neighbour }) {
  return (
    <p class="head">
      <span>{back !== null && <a href={back.href}>← {back.name}</a>}</span>
      <span>{on !== null && <a href={on.href}>{on.name} →</a>}</span>
    </p>
  );
}

/** A link to another site; plain words without an address. */
export function Out({ to, children }: { to: string | null; children: Child }) {
  if (to === null) return <>{children}</>;
  return (
    <a href={to} rel="noopener nofollow">
      {children}
    </a>
  );
}

/** Movements, newest first, each with the part of its description that its heading lacks. */
export function Movements({ alerts, now }: { alerts: readonly PublicAlert[]; now: number }) {
  return (
    <div class="card">
      <ul class="list">
        {alerts.map((alert) => {
          const { direction, detectedAt, verified, source, chain, txHash } = alert;
          const added = getAddedDescription(alert);
          const found = verified ? "reported, found on Base" : "reported";
          const by = source === "measured" ? "measured on Base" : found;
          const shownAt = txHash === undefined ? null : toSafeUrl(getExplorerUrl(chain, txHash));
          return (
            <li>
              <div class="head">
                <strong>{formatNews(alert)}</strong>
                <span class="small">
                  <Side side={direction} kind="" /> · <Since at={toIso(detectedAt)} now={now} /> · {by}
                  {shownAt !== null && (
                    <>
                      {" "}
                      · <Out to={shownAt}>transaction</Out>
                    </>
                  )}
                </span>
              </div>
              {added !== null && <p class="small">{added}</p>}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** @param isPart Whether its heading is right below the page's own. @param isLive Whether an open page renews it. */
export function CardSection(of: {
  id: string;
  title: Child;
  aside?: Child;
  isPart?: boolean;
  isLive?: boolean;
  children: Child;
}) {
  const Heading = of.isPart === true ? "h2" : "h3";
  const live = of.isLive === true ? { id: `${of.id}-live`, "data-live": "" } : {};
  return (
    <section class="card" aria-labelledby={of.id} {...live}>
      <div class="head">
        <Heading id={of.id}>{of.title}</Heading>
        {of.aside}
      </div>
      {of.children}
    </section>
  );
}

/**
 * A table that scrolls by keyboard if it is wider than its container. The first cell of a row is the row's heading.
 * @param wide The first column that a phone hides.
 */
export function Table(of: {
  name: string;
  heads: readonly string[];
  wide: number;
  rows: readonly Child[][];
}) {
  const kind = (column: number) => (column >= of.wide ? "extra" : undefined);
  return (
    <div class="scroll" tabindex={0} role="region" aria-label={of.name}>
      <table>
        <caption>{of.name}</caption>
        <thead>
          <tr>
            {of.heads.map((head, column) => (
              <th scope="col" class={kind(column)}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.rows.map(([name, ...cells]) => (
            <tr>
              <th scope="row">{name}</th>
              {cells.map((cell, column) => (
                <td class={kind(column + 1)}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** A term, its value, and a note. */
export type Term = readonly [term: string, value: Child, note?: Child];

/** @param kind `facts` for a few large figures beside one another, `noted` for a list with long notes; omitted for a list. */
export function Facts({ of, kind }: { of: readonly Term[]; kind?: "facts" | "noted" }) {
  return (
    <dl class={kind}>
      {of.map(([term, value, note]) => (
        <div>
          <dt>{term}</dt>
          <dd>
            {value}
            {note !== undefined && <small>{note}</small>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

type Choice = { href: string; name: string; isShown: boolean };

/** The variants of a page, with the shown one marked. */
export function Chips({ label, choices }: { label: string; choices: readonly Choice[] }) {
  return (
    <ul class="chips" aria-label={label}>
      {choices.map(({ href, name, isShown }) => (
        <li>
          <a href={href} aria-current={isShown ? "true" : undefined}>
            {name}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** A block of code that scrolls by keyboard. */
export function Code({ label, text }: { label: string; text: string }) {
  return (
    <pre tabindex={0} role="region" aria-label={label}>
      <code>{text}</code>
    </pre>
  );
}
