import {
  FUNDING_HOURS,
  formatCondition,
  isEvent,
  parseSubject,
  toWatch,
  type MeasuredKind,
} from "../alerts/conditions";
import type { DrawnHistory } from "../alerts/observations";
import { joinSourceNames } from "../figures/publicSources";
import {
  formatBigUsd,
  formatMoney,
  formatPercent,
  formatShortUsd,
  formatSignedPercent,
} from "../lib/text/numbers";
import { formatDate, formatDateTime, DAY, HOUR, MINUTE } from "../lib/time";
import type { PricePoint } from "../market/views";
import type { PublicSignal } from "../signals/shapes";
import { BODY, getWay, MARGIN, Mark, placeRow, QrCode, renderSvg, TextLines, type Way } from "./card";
import { Chart, toPoints, type Point } from "./chart";
import { LevelsChart, type SignalData } from "./levels";
import { WorthChart } from "./courses";
import type { Worth } from "../wallets/past/looks";

/** The pictures of the messenger's cards: signals, a week of them, an alert's last days, a wallet's address. */

/** The day's signals: the price of the day before each, and its levels for as long as it is open. */
export function drawSignals(signals: readonly SignalData[], site: string): string {
  const issued = Math.max(...signals.map(({ signal }) => Date.parse(signal.generatedAt)));
  const prices = signals.flatMap(({ path, issued }) => [...path, issued]);
  const card = {
    title: signals.length === 1 ? "Trading signal" : "Trading signals",
    aside: formatDateTime(issued),
    source: `Prices by ${joinSourceNames(prices)}`,
    site,
  };
  return renderSvg(
    card,
    signals.map(({ signal, path }, index) => {
      const frame = placeRow([index, signals.length], 250, { left: 0, right: 190 });
      const window = { from: Date.parse(signal.generatedAt) - DAY, to: Date.parse(signal.expiresAt) };
      return (
        <>
          <RowLabels texts={describeSignal(signal)} top={frame.y} />
          <LevelsChart signal={signal} points={toPoints(path)} window={window} frame={frame} />
        </>
      );
    }),
  );
}

/** The texts beside a row's chart: the token, a figure with its direction, and further lines. */
type RowTexts = { token: string; kind: Way; strong: string; more: string[] };

function RowLabels({ texts: { token, kind, strong, more }, top }: { texts: RowTexts; top: number }) {
  return (
    <>
      <TextLines kind="figure" y={top + 34} text={token} />
      <Mark kind={kind} x={MARGIN + 104} y={top + 33} />
      <TextLines kind={`strong ${kind}`} x={MARGIN + 136} y={top + 33} text={strong} />
      {more.map((text, index) => (
        <TextLines kind="soft" y={top + 76 + 32 * index} text={text} />
      ))}
    </>
  );
}

function describeSignal({ token, signal, entry, confidence, breakEvenPercent }: PublicSignal): RowTexts {
  const needed = breakEvenPercent === null ? "no position" : `${breakEvenPercent.toFixed(0)} % needed`;
  const kind = ({ BUY: "up", SELL: "down", HOLD: "flat" } as const)[signal];
  return { token, kind, strong: signal, more: [formatMoney(entry), `${confidence} % stated,`, needed] };
}

export type DrawnWeek = {
  /** Its Monday, `2026-11-16`. */
  week: string;
  tokens: readonly { token: string; signals: readonly PublicSignal[]; closes: readonly PricePoint[] }[];
};

/** A week's signals on the path of each token's price: from stop to first target, with the entry. */
export function drawWeek({ week, tokens }: DrawnWeek, site: string): string {
  const monday = Date.parse(week);
  const card = {
    title: "The week's signals",
    aside: `Week of ${formatDate(monday)}, after costs`,
    source: `Prices by ${joinSourceNames(tokens.flatMap(({ closes }) => closes))}`,
    site,
  };
  return renderSvg(
    card,
    tokens.map(({ token, signals, closes }, index) => {
      const frame = placeRow([index, tokens.length], 260, { left: 130, right: 6 });
      return (
        <>
          <RowLabels texts={describeWeek(token, signals)} top={frame.y} />
          <Chart
            id={`week-${token}`}
            title={token}
            says=""
            from={monday}
            to={monday + 7 * DAY}
            axis={(value) => `$${formatShortUsd(value)}`}
            lines={[{ kind: "", points: toPoints(closes) }]}
            bands={signals.flatMap(({ generatedAt, tp1, sl, status }) => {
              if (tp1 === null || sl === null) return [];
              const at = Date.parse(generatedAt);
              const [low, high] = [Math.min(tp1, sl), Math.max(tp1, sl)];
              return [{ kind: `reach ${status.toLowerCase()}`, low, high, from: at - HOUR, to: at + HOUR }];
            })}
            dots={signals.map(({ generatedAt, entry, status }) => ({
              kind: status.toLowerCase(),
              at: Date.parse(generatedAt),
              value: entry,
            }))}
            frame={frame}
          />
        </>
      );
    }),
  );
}

function describeWeek(token: string, signals: readonly PublicSignal[]): RowTexts {
  const count = (countedStatus: PublicSignal["status"]) =>
    signals.filter(({ status }) => status === countedStatus).length;
  const results = signals.flatMap(({ afterCostsPercent: one }) => (typeof one === "number" ? [one] : []));
  const sum = results.reduce((total, one) => total + one, 0);
  return {
    token,
    kind: getWay(sum),
    strong: results.length === 0 ? "none" : formatSignedPercent(sum),
    more: [`${count("WIN")} won, ${count("LOSS")} lost`, `${count("EXPIRED")} expired`],
  };
}

/** A week of the value that an alert watches, its level, and when it would have fired. */
export type DrawnAlert = DrawnHistory & { now: number };

export function drawAlert({ condition, now, path, fired, level }: DrawnAlert, site: string): string {
  const line = formatCondition(condition);
  const { subject } = toWatch(condition);
  const { kind } = parseSubject(subject);
  const isEvents = isEvent(subject);
  // Rates are stored per hour, and shown for the hours of exchanges' quotes.
  const hours = kind === "funding" ? FUNDING_HOURS : 1;
  const [from, to] = [now - 7 * DAY, now + 10 * MINUTE];
  const inUnit = (values: DrawnHistory["path"]): Point[] =>
    values.map(({ at, value }) => ({ at: Math.max(at, from), value: value * hours }));
  const points = inUnit(path);
  const last = points.at(-1);
  const written = AXIS_FORMATS[kind];
  const card = {
    title: line.charAt(0).toUpperCase() + line.slice(1),
    aside: `7 days until ${formatDateTime(now)}`,
    source: isEvents ? "Movements measured on Base" : `By ${joinSourceNames(path)}`,
    site,
  };
  return renderSvg(
    card,
    <Chart
      id="alert"
      title={card.title}
      says=""
      from={from}
      to={to}
      axis={written}
      lines={isEvents ? [] : [{ kind: "", points }]}
      levels={[
        { kind: "target", value: level * hours, name: written(level * hours) },
        ...(last === undefined || isEvents
          ? []
          : [{ kind: "", value: last.value, name: written(last.value), from: to }]),
      ]}
      dots={[
        ...(isEvents ? points.map((one) => ({ kind: "", ...one })) : []),
        ...inUnit(fired).map((one) => ({ kind: "up", ...one })),
      ]}
      frame={placeRow([0, 1], 0, { left: 140, right: 150 })}
    />,
  );
}

/** How an axis writes the values of a kind. */
const AXIS_FORMATS: Readonly<Record<MeasuredKind, (value: number) => string>> = {
  price: (value) => `$${formatShortUsd(value)}`,
  change: (value) => formatSignedPercent(value),
  funding: (value) => formatPercent(Number(value.toPrecision(4))),
  flow: formatBigUsd,
};

/** A wallet's worth over time, against what was paid in less what was taken out (dashed). */
export function drawWorth(worths: readonly Worth[], site: string): string {
  const [from = 0, to = 0] = [worths[0]?.at, worths.at(-1)?.at];
  const aside = to - from < DAY ? formatDateTime(to) : `${formatDate(from)} to ${formatDate(to)}`;
  return renderSvg(
    { title: "Your wallet", aside, source: "Dashed: paid in less taken out", site },
    <WorthChart worths={worths} frame={placeRow([0, 1], 0, { left: 140, right: 160 })} />,
  );
}

/** Half a line of an address: 42 characters are three lines of two. */
const GROUP = /.{1,7}/g;

/** A wallet's address to scan, beside its digits. */
export function drawDeposit(address: string, site: string): string {
  const side = BODY.bottom - BODY.top;
  const groups = address.match(GROUP) ?? [];
  const lines = [0, 2, 4].map((from) => groups.slice(from, from + 2).join(" "));
  const left = MARGIN + side + MARGIN;
  return renderSvg(
    { title: "Your wallet", aside: "Base, chain 8453", source: "USDC or ETH on Base only", site },
    <>
      <QrCode text={address} x={MARGIN} y={BODY.top} width={side} height={side} />
      <TextLines kind="soft" x={left} y={BODY.top + 90} text="Scan it, or compare its digits:" />
      {lines.map((text, index) => (
        <TextLines kind="figure" x={left} y={BODY.top + 160 + 60 * index} text={text} />
      ))}
    </>,
  );
}
