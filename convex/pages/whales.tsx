import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { formatBigUsd } from "../lib/text/numbers";
import { DAY, HOUR, NEVER, startOfMinute, toIso } from "../lib/time";
import { KIND_NAMES } from "../whales/cards";
import { ALERT_TYPES } from "../whales/coins";
import type { AlertType, PublicAlert } from "../whales/tables";
import { Chart } from "../pictures/chart";
import type { Page } from "./layout";
import { Chips, Empty, Movements, OpenBot, Pager } from "./parts";
import { getCoinPath } from "./prices";

/** Large movements, newest first, of one coin or kind, or of all; and the flow to and from exchanges. */

const [LISTED, COINS] = [30, 8];

/** The newest of the last week. @param now Epoch ms. */
export function readWhales(ctx: ActionCtx, now: number, limit: number): Promise<PublicAlert[]> {
  return ctx.runQuery(internal.whales.alerts.listAlertsSince, { since: startOfMinute(now) - 7 * DAY, limit });
}

type Filter = { token?: string | undefined; kind?: AlertType | undefined; before?: number | undefined };

function buildPath(filter: Filter): string {
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? "/whales" : `/whales?${new URLSearchParams(given).toString()}`;
}

export async function buildWhalesPage(ctx: ActionCtx, filter: Filter, now: number): Promise<Page> {
  const { token, kind, before = NEVER } = filter;
  const hour = Math.floor(now / HOUR) * HOUR;
  const terms = { token: token ?? null, alertType: kind ?? null, before, since: hour - 23 * HOUR };
  const page = await ctx.runQuery(internal.whales.alerts.listAlertPage, { ...terms, limit: LISTED });
  const { alerts, older, flows } = page;
  const tokens = [...new Set([...(token === undefined ? [] : [token]), ...page.tokens])].slice(0, COINS);
  const [coins, kinds]: [(string | undefined)[], (AlertType | undefined)[]] = [tokens, [...ALERT_TYPES]];
  const content = (
    <>
      <h1>Whales</h1>
      <p class="lead">
        Large transfers and exchange flows, newest first: read on Base by this service itself, and reported
        from other chains by an agent.
      </p>
      <p>
        <OpenBot start="whales">Get them in the bot</OpenBot>
      </p>
      <Chips
        label="Coins"
        choices={[undefined, ...coins].map((one) => ({
          href: buildPath({ token: one, kind }),
          name: one ?? "All coins",
          isShown: one === token,
        }))}
      />
      <Chips
        label="Kinds"
        choices={[undefined, ...kinds].map((one) => ({
          href: buildPath({ token, kind: one }),
          name: one === undefined ? "All kinds" : KIND_NAMES[one],
          isShown: one === kind,
        }))}
      />
      {token !== undefined && (
        <p>
          <a href={getCoinPath(token)}>Price, research and signals of {token}</a>
        </p>
      )}
      {filter.before === undefined && flows.length > 0 && <Flows of={flows} until={hour + HOUR} />}
      {alerts.length === 0 ? (
        <Empty>
          Nothing like it was seen{filter.before === undefined ? " yet" : " among those"}. Base is looked at
          every five minutes, the other chains every hour.
        </Empty>
      ) : (
        <Movements alerts={alerts} now={now} />
      )}
      <Pager
        back={filter.before === undefined ? null : { href: buildPath({ token, kind }), name: "The newest" }}
        on={older === null ? null : { href: buildPath({ token, kind, before: older }), name: "Older" }}
      />
    </>
  );
  return {
    title: "Whales",
    description: "Large transfers and exchange flows of crypto, newest first.",
    path: "/whales",
    content,
  };
}

/** The net flow of each of the last 24 hours. */
function Flows({ of, until }: { of: readonly { hour: number; netUsd: number }[]; until: number }) {
  const sum = of.reduce((total, { netUsd }) => total + netUsd, 0);
  const signed = (usd: number) => (usd === 0 ? "$0" : `${usd < 0 ? "−" : "+"}${formatBigUsd(Math.abs(usd))}`);
  return (
    <figure class="card">
      <Chart
        id="flows"
        title="Net flow to exchanges by hour, in USD"
        says={`Over 24 hours: ${signed(sum)}.`}
        from={until - DAY}
        to={until}
        axis={signed}
        levels={[{ kind: "zero", value: 0 }]}
        bands={of.map(({ hour, netUsd }) => ({
          kind: `reach ${netUsd > 0 ? "loss" : "win"}`,
          low: Math.min(0, netUsd),
          high: Math.max(0, netUsd),
          from: hour + HOUR / 12,
          to: hour + HOUR - HOUR / 12,
          says: `${toIso(hour).slice(11, 16)} UTC: ${signed(netUsd)}`,
        }))}
      />
      <figcaption>
        To exchanges less from exchanges by hour (UTC), {signed(sum)} in 24 hours. Above the line more
        arrived, below it more left.
      </figcaption>
    </figure>
  );
}
