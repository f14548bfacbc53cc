import type { Child } from "hono/jsx";
import type { JSX } from "hono/jsx/jsx-runtime";
import { optional } from "../lib/env";
import { sourceName } from "../lib/publicSources";
import { signed, usd } from "../lib/text/numbers";
import { many } from "../lib/text/strings";
import { DAY, dateTime, HOUR, iso, MINUTE } from "../lib/time";
import type { PublicSignal } from "../signals/shapes";
import type { PublicAlert } from "../whales/shapes";
import { addedBy, newsOf } from "../whales/cards";

/** Parts and words that several pages have in common. */

/** What a component has written: nothing here waits, so it is there at once. */
export function textOf(written: JSX.Element): string {
  if (written instanceof Promise) throw new Error("A component waits");
  return written.toString();
}

/** `$97,250.50`: an amount or a price, on pages and pictures as on cards. */
export function money(value: number): string {
  return `$${usd(value)}`;
}

/** A figure, or words if there is none. */
export function orNone(value: number | null, words: (value: number) => string, none = "none yet"): string {
  return value === null ? none : words(value);
}

/** `just now`, `3 minutes ago`, `5 days ago`; a moment to come: `in 3 minutes`. */
export function ago(at: number, now: number): string {
  const distance = Math.abs(now - at);
  if (distance < MINUTE) return "just now";
  const [size, word]: [number, string] =
    distance < 2 * HOUR ? [MINUTE, "minute"] : distance < 2 * DAY ? [HOUR, "hour"] : [DAY, "day"];
  const words = many(Math.round(distance / size), word);
  return at > now ? `in ${words}` : `${words} ago`;
}

/** `20 Nov 2026, 15:30 UTC` for people and programs. */
export function Moment({ at }: { at: string }) {
  return <time datetime={at}>{dateTime(Date.parse(at))}</time>;
}

/** How long ago that was, with the moment itself for who points at it. */
export function Since({ at, now }: { at: string; now: number }) {
  return (
    <time datetime={at} title={dateTime(Date.parse(at))}>
      {ago(Date.parse(at), now)}
    </time>
  );
}

/** `Chainlink and Coinbase`. */
export function sourceNames(points: readonly { source: string }[]): string {
  const names = [...new Set(points.map(({ source }) => sourceName(source)))];
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1) ?? ""}`;
}

/** The one way to say that there is nothing yet: what will be here, and when or how. */
export function Empty({ children }: { children: Child }) {
  return <p class="empty">{children}</p>;
}

/** A change with its direction as a shape, and not only as a colour. */
export function Change({ value }: { value: number | null }) {
  if (value === null) return null;
  const [kind, mark] = value > 0 ? ["up", "▲"] : value < 0 ? ["down", "▼"] : ["flat", "■"];
  return (
    <span class={`change ${kind}`}>
      <span aria-hidden="true">{mark}</span> {signed(value)}
    </span>
  );
}

const SIDES = {
  BUY: ["up", "▲"],
  SELL: ["down", "▼"],
  HOLD: ["flat", "■"],
  bullish: ["up", "▲"],
  bearish: ["down", "▼"],
  neutral: ["flat", "●"],
} as const;

/** `▲ BUY`, `● neutral`. */
export function Side({ side }: { side: keyof typeof SIDES }) {
  const [kind, mark] = SIDES[side];
  return (
    <span class={`tag ${kind}`}>
      <span aria-hidden="true">{mark}</span> {side}
    </span>
  );
}

const ENDINGS = { PENDING: "open", WIN: "won", LOSS: "lost", EXPIRED: "expired" } as const;

/** `won +1.05 %` after costs, `open`, `expired without a price`. */
export function Ending({
  signal: { signal, status, afterCostsPercent, exitPrice },
}: {
  signal: PublicSignal;
}) {
  const result =
    typeof afterCostsPercent === "number"
      ? ` ${signed(afterCostsPercent)}`
      : exitPrice === null && signal !== "HOLD"
        ? " without a price"
        : "";
  return (
    <span class={status.toLowerCase()}>
      {ENDINGS[status]}
      {result}
    </span>
  );
}

/** The bot as a link; `null` if the operator has not named it. */
export function Bot() {
  const bot = optional("MESSENGER_BOT_NAME");
  return bot === undefined ? null : (
    <a href={`https://t.me/${bot}`} rel="noopener nofollow">
      @{bot}
    </a>
  );
}

/** Movements, newest first, each with the additional words of its description. */
export function Movements({ alerts, now }: { alerts: readonly PublicAlert[]; now: number }) {
  return (
    <ul class="list">
      {alerts.map((alert) => {
        const { direction, detectedAt, verified, source } = alert;
        const added = addedBy(alert);
        const by =
          source === "measured" ? "measured on Base" : verified ? "reported, found on Base" : "reported";
        return (
          <li>
            <div class="head">
              <strong>{newsOf(alert)}</strong>
              <span class="small">
                <span class={direction}>
                  <span aria-hidden="true">{SIDES[direction][1]}</span> {direction}
                </span>{" "}
                · <Since at={iso(detectedAt)} now={now} /> · {by}
              </span>
            </div>
            {added !== null && <p class="small">{added}</p>}
          </li>
        );
      })}
    </ul>
  );
}

export type Column<Row> = {
  head: string;
  /** `name`: the name of a row. `right`: figures, one below the other. `extra`: a phone has no room for it. */
  kind?: "name" | "right" | "extra" | "right extra";
  cell: (row: Row) => Child;
};

/** A table that can be scrolled by keyboard if it is wider than its place. */
export function Table<Row>({
  name,
  rows,
  columns,
}: {
  name: string;
  rows: readonly Row[];
  columns: readonly Column<Row>[];
}) {
  const classOf = (kind?: string) => (kind === "name" ? undefined : kind);
  return (
    <div class="scroll" tabindex={0} role="region" aria-label={name}>
      <table>
        <caption>{name}</caption>
        <thead>
          <tr>
            {columns.map(({ head, kind }) => (
              <th scope="col" class={classOf(kind)}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {columns.map(({ kind, cell }) =>
                kind === "name" ? <th scope="row">{cell(row)}</th> : <td class={kind}>{cell(row)}</td>,
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Signals, each with a link to its page. */
export function SignalTable({ name, signals }: { name: string; signals: readonly PublicSignal[] }) {
  return (
    <Table
      name={name}
      rows={signals}
      columns={[
        { head: "Signal", kind: "name", cell: ({ id }) => <a href={`/signals/${id}`}>{id}</a> },
        { head: "Side", cell: ({ signal }) => <Side side={signal} /> },
        { head: "End", cell: (signal) => <Ending signal={signal} /> },
        { head: "Entry", kind: "right extra", cell: ({ entry }) => money(entry) },
        {
          head: "Exit",
          kind: "right extra",
          cell: ({ exitPrice }) => (typeof exitPrice === "number" ? money(exitPrice) : ""),
        },
      ]}
    />
  );
}

/** Terms with their values. */
export function Facts({
  of,
  kind,
}: {
  of: readonly (readonly [term: string, value: Child])[];
  kind?: string;
}) {
  return (
    <dl class={kind}>
      {of.map(([term, value]) => (
        <div>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Other choices of the same page, one of which is shown. */
export function Chips({
  label,
  choices,
}: {
  label: string;
  choices: readonly { href: string; name: string; isShown: boolean }[];
}) {
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
