import { formatMoney } from "../lib/text/numbers";
import { DAY } from "../lib/time";
import type { PublicPrices } from "../market/views";
import { Chart, isDrawn, toPoints, type Frame } from "./chart";

/** A token's price, as `market/views` reads it. */
export type TokenPrice = NonNullable<PublicPrices["prices"]["BTC"]>;

type Drawn = { token: string; price: TokenPrice; frame?: Frame };

/** A price's course over the day of its change, whose sign it takes; nothing for fewer than two prices. */
export function CourseChart({ token, price, frame }: Drawn) {
  const { change24hPercent: change, priceUsd, observedAt, closes } = price;
  const from = Date.parse(observedAt) - DAY;
  const dayAgo = change === null ? [] : [{ at: from, value: priceUsd / (1 + change / 100) }];
  const points = [
    ...dayAgo,
    ...toPoints(closes).filter(({ at }) => at > from && at < Date.parse(observedAt)),
    { at: Date.parse(observedAt), value: priceUsd },
  ];
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || !isDrawn(points)) return null;
  const values = points.map(({ value }) => value);
  const moved = change ?? last.value - first.value;
  const way = moved > 0 ? "up" : moved < 0 ? "down" : "flat";
  return (
    <Chart
      id={`course-${token}`}
      size="spark"
      title={`${token} in USD, hour by hour`}
      says={`From ${formatMoney(first.value)} to ${formatMoney(last.value)}; lowest ${formatMoney(Math.min(...values))}, highest ${formatMoney(Math.max(...values))}.`}
      from={first.at}
      to={last.at}
      levels={[{ kind: "zero", value: first.value }]}
      lines={[{ kind: way, points, isFilled: true }]}
      dots={[{ kind: way, ...last }]}
      unit="$"
      {...(frame === undefined ? {} : { frame })}
    />
  );
}
