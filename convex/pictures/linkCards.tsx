import { joinSourceNames } from "../figures/publicSources";
import { formatBigUsd, formatMoney, formatSignedPercent } from "../lib/text/numbers";
import { formatCount } from "../lib/text/strings";
import { formatDateTime } from "../lib/time";
import type { Coin } from "../market/snapshot";
import type { Signal } from "../signals/tables";
import { BODY, getWay, MARGIN, Mark, placeRow, renderSvg, TextLines } from "./card";
import { buildCurves, CourseChart, CurvesChart, type TokenPrice } from "./courses";
import type { Writing } from "../research/http";

/** The pictures of pages, for previews of links to them. */

/** The record: the sum of the results, in steps, against buying and holding (dashed). */
export function drawRecord(signals: readonly Signal[], site: string): string {
  const curves = buildCurves(signals);
  const card = {
    title: "The record of the signals",
    aside: `${formatCount(curves.trades, "trade")}, after costs`,
    source: "Dashed: bought and held",
    site,
  };
  return renderSvg(
    card,
    <CurvesChart curves={curves} frame={placeRow([0, 1], 0, { left: 110, right: 130 })} />,
  );
}

/** A coin: its price and its day, with the price's course where the service samples it, otherwise with its size. */
export function drawCoin(coin: Coin, price: TokenPrice | null, site: string): string {
  const { symbol, name, usd, change24h, source, observedAt, size } = coin;
  const card = {
    title: name === symbol ? symbol : `${name} (${symbol})`,
    aside: formatDateTime(observedAt),
    source: `By ${joinSourceNames([{ source }, ...(size === null ? [] : [{ source: "coingecko" }])])}`,
    site,
  };
  const [x, top] = [MARGIN + 8, BODY.top + 70];
  const way = getWay(change24h ?? 0);
  const sizes =
    size === null
      ? []
      : [
          `Number ${size.rank} by market capitalisation`,
          `Market capitalisation ${formatBigUsd(size.marketCap)}`,
          `Traded in 24 hours ${formatBigUsd(size.volume24h)}`,
        ];
  return renderSvg(
    card,
    <>
      <TextLines kind="large" x={x} y={top} text={formatMoney(usd)} />
      {change24h !== null && (
        <>
          <Mark kind={way} x={x} y={top + 62} />
          <TextLines
            kind={`strong ${way}`}
            x={x + 34}
            y={top + 62}
            text={`${formatSignedPercent(change24h)} in 24 hours`}
          />
        </>
      )}
      {price !== null ? (
        <CourseChart
          token={symbol}
          price={price}
          frame={{
            ...placeRow([1, 2], 0, { left: 8, right: 12 }),
            y: top + 100,
            height: BODY.bottom - top - 100,
          }}
        />
      ) : (
        sizes.map((say, index) => <TextLines x={x} y={top + 140 + 44 * index} text={say} />)
      )}
    </>,
  );
}

/** The most characters of a line in its size. */
const [LONG_LINE, LINE] = [44, 60];
const OUTLOOKS = { bullish: "up", bearish: "down", neutral: "flat" } as const;

/** A report: its outlook, its sentence and what moves. @param focus A symbol, or "" for the whole market. */
export function drawReport(focus: string, { at, result }: Writing, site: string): string {
  const { marketOutlook, shortSummary, impacts, sources } = result;
  const card = {
    title: `Research on ${focus === "" ? "the whole market" : focus}`,
    aside: formatDateTime(Date.parse(at)),
    source: `A model's view; ${formatCount(sources.length, "cited source")}`,
    site,
  };
  const way = OUTLOOKS[marketOutlook];
  const lines = wrapWords(shortSummary.replace(/^(?:🟢|🔴|🟡)\s*/u, ""), LONG_LINE);
  const top = BODY.top + 92 + 44 * lines.length;
  return renderSvg(
    card,
    <>
      <Mark kind={way} x={MARGIN} y={BODY.top + 40} />
      <TextLines kind={`strong ${way}`} x={MARGIN + 36} y={BODY.top + 40} text={marketOutlook} />
      {lines.map((say, index) => (
        <TextLines kind="title" y={BODY.top + 96 + 44 * index} text={say} />
      ))}
      {impacts.slice(0, 3).map(({ title, sentiment }, index) => (
        <>
          <Mark kind={OUTLOOKS[sentiment]} x={MARGIN} y={top + 40 * index + 22} />
          <TextLines x={MARGIN + 36} y={top + 40 * index + 20} text={wrapWords(title, LINE)[0] ?? ""} />
        </>
      ))}
    </>,
  );
}

/** Words in lines of at most so many characters; a longer word is a line of its own. */
function wrapWords(words: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of words.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
