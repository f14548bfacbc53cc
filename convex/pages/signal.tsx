import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSourceName, joinSourceNames } from "../figures/publicSources";
import { formatMoney, formatSignedPercent } from "../lib/text/numbers";
import { HOUR } from "../lib/time";
import type { PricePoint } from "../market/views";
import { isDrawn, toPoints, type Point } from "../pictures/chart";
import { LevelsChart, readSignal, type SignalData } from "../pictures/levels";
import type { PublicSignal } from "../signals/shapes";
import type { Page } from "./layout";
import {
  CardSection,
  Empty,
  Ending,
  Facts,
  Moment,
  formatOrNone,
  OpenBot,
  Pager,
  Side,
  type Term,
} from "./parts";
import { getCoinPath } from "./prices";

/** One signal: its page, and the chart of its levels on the path of the price. */

export async function buildSignalPage(ctx: ActionCtx, requestedId: string): Promise<Page> {
  const data = await readSignal(ctx, requestedId);
  const { signal, issued } = data;
  const { earlier, later } = await ctx.runQuery(internal.signals.history.findNeighbours, {
    token: signal.token,
    generatedAt: Date.parse(signal.generatedAt),
  });
  const { id, token, confidence, reasoning, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const name = `${token} signal of ${id.slice(token.length + 1)}`;
  const content = (
    <>
      <h1>{name}</h1>
      <p class="lead">
        <Side side={signal.signal} /> <Ending signal={signal} />
      </p>
      <div class="grid aside">
        <div class="grid">
          <div class="card">
            <SignalFigure data={data} />
          </div>
          <CardSection id="said" title="The model's view" isPart>
            <p>“{reasoning}”</p>
            <Facts
              of={[
                ["Stated confidence", `${confidence} %`],
                ["Would win by chance", formatShare(signal.chancePercent)],
                ["Must win to earn its costs", formatShare(signal.breakEvenPercent)],
                ["Model", signal.model],
              ]}
            />
          </CardSection>
        </div>
        <CardSection id="levels" title="Levels" isPart>
          <Facts
            of={[
              ["Entry", formatMoney(signal.entry)],
              ...listTargets(signal),
              ...(signal.tp1 === null ? [["Position", "none"] as const] : []),
              ["Price at issue", `${formatMoney(issued.priceUsd)}, ${getSourceName(issued.source)}`],
              ["Issued", <Moment at={generatedAt} />],
              ["Valid until", <Moment at={expiresAt} />],
              ...(closedAt === undefined ? [] : [["Closed", <Moment at={closedAt} />] as const]),
              ...(typeof exitPrice === "number" ? [["Exit", formatMoney(exitPrice)] as const] : []),
            ]}
          />
        </CardSection>
      </div>
      <p>
        Part of <a href="/record">the record</a>, which anybody can check. More on{" "}
        <a href={getCoinPath(token)}>{token}</a>. <OpenBot start="signals">Open in the bot</OpenBot>
      </p>
      <Pager back={toNeighbour(earlier)} on={toNeighbour(later)} />
    </>
  );
  return {
    title: name,
    description: `${signal.signal} at ${formatMoney(signal.entry)}, and what became of it.`,
    path: `/signals/${id}`,
    content,
    picture: id,
  };
}

const toNeighbour = (id: string | null) => (id === null ? null : { href: `/signals/${id}`, name: id });

const formatShare = (percent: number | null) =>
  formatOrNone(percent, (share) => `${share.toFixed(0)} %`, "none");

function listTargets({ entry, tp1, tp2, sl }: PublicSignal): Term[] {
  const levels = [
    ["Target 1", tp1],
    ["Target 2", tp2],
    ["Stop", sl],
  ] as const;
  return levels.flatMap(([name, price]) =>
    price === null
      ? []
      : [[name, formatMoney(price), formatSignedPercent((price / entry - 1) * 100)] as const],
  );
}

/** The chart of one signal from half an hour before its issue to its end, with the sources of its prices. */
function SignalFigure({ data: { signal, issued, path } }: { data: SignalData }) {
  const { generatedAt, expiresAt, closedAt } = signal;
  const points = buildCourse(signal, path);
  const window = {
    from: Date.parse(generatedAt) - HOUR / 2,
    to: closedAt === undefined ? Date.parse(expiresAt) : Date.parse(closedAt) + HOUR / 2,
  };
  return (
    <figure>
      {isDrawn(points) ? (
        <LevelsChart signal={signal} points={points} window={window} />
      ) : (
        <Empty>Its chart begins with the next price, within five minutes.</Empty>
      )}
      <figcaption>
        Prices by {joinSourceNames([...path, issued])}; hours in UTC.{" "}
        {signal.tp1 === null
          ? "Without a position there is nothing to reach."
          : "Shaded: from the entry to the targets (TP) and to the stop (SL), while it was open."}
      </figcaption>
    </figure>
  );
}

/** The path with the record's own prices at the issue and at the end, oldest first. */
function buildCourse(
  { generatedAt, entry, closedAt, exitPrice }: PublicSignal,
  path: readonly PricePoint[],
): Point[] {
  const ended = closedAt !== undefined && typeof exitPrice === "number";
  return [
    ...toPoints(path),
    { at: Date.parse(generatedAt), value: entry },
    ...(ended ? [{ at: Date.parse(closedAt), value: exitPrice }] : []),
  ].toSorted((a, b) => a.at - b.at);
}

/** A signal on other pages. */
export function SignalCard({ data }: { data: SignalData }) {
  const { id, token, signal, confidence, generatedAt, reasoning } = data.signal;
  const ended = (
    <span>
      <Side side={signal} /> <Ending signal={data.signal} />
    </span>
  );
  return (
    <CardSection
      id={id}
      title={<a href={`/signals/${id}`}>{`${token}, ${id.slice(token.length + 1)}`}</a>}
      aside={ended}
    >
      <p class="small">
        Issued <Moment at={generatedAt} />, stated confidence {confidence} %.
      </p>
      <SignalFigure data={data} />
      <details>
        <summary>The model's view</summary>
        <p>“{reasoning}”</p>
      </details>
    </CardSection>
  );
}
