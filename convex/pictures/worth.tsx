import { formatMoney, formatShortUsd } from "../lib/text/numbers";
import type { Worth } from "../wallets/past/course";
import { Chart, type Frame } from "./chart";

/** A wallet's worth over time beside what was paid in less what was taken out (dashed), on a page or in a picture. */
export function WorthChart({ worths, frame }: { worths: readonly Worth[]; frame?: Frame }) {
  const [first, last] = [worths[0], worths.at(-1)];
  if (first === undefined || last === undefined) return null;
  const pointsOf = (of: "value" | "paidIn") => worths.map((one) => ({ at: one.at, value: one[of] }));
  const [from, to] = [first.at, last.at];
  const axis = (value: number) => `$${formatShortUsd(value)}`;
  return (
    <Chart
      id="worth"
      title="Worth of the wallet over time"
      says={`${formatMoney(last.value)} now; paid in less taken out ${formatMoney(last.paidIn)}.`}
      from={from}
      to={to}
      axis={axis}
      levels={[
        {
          kind: last.value < last.paidIn ? "down" : "up",
          value: last.value,
          name: axis(last.value),
          from: to,
        },
        { kind: "held", value: last.paidIn, name: axis(last.paidIn), from: to },
      ]}
      lines={[
        { kind: "held", points: pointsOf("paidIn"), isStepped: true },
        { kind: "main", points: pointsOf("value") },
      ]}
      {...(frame === undefined ? {} : { frame })}
    />
  );
}
