import { scaleLinear } from "d3-scale";
import * as z from "zod";
import { dateTime } from "../lib/time";
import { html } from "../pages/markup";
import { usd } from "../lib/text/numbers";
import { BODY, MARGIN, pictureOf, WIDTH } from "./card";

/** What a wallet holds, by value. */

export const portfolioShape = z.object({
  /** Epoch ms. */
  at: z.number(),
  totalUsd: z.number(),
  /** By their value, the largest first. */
  holdings: z.array(z.object({ token: z.string(), valueUsd: z.number() })).min(1),
});

const SHOWN = 5;
const BEGIN = 190;
const END = 700;

export function portfolioPicture(
  { at, totalUsd, holdings }: z.output<typeof portfolioShape>,
  site: string,
): string {
  const shown = holdings.length > SHOWN ? holdings.slice(0, SHOWN - 1) : holdings;
  const others = holdings.slice(shown.length);
  const bars = [
    ...shown,
    ...(others.length === 0
      ? []
      : [
          {
            token: `${others.length} more`,
            valueUsd: others.reduce((sum, { valueUsd }) => sum + valueUsd, 0),
          },
        ]),
  ];
  const height = Math.min(70, (BODY.bottom - BODY.top - 70) / bars.length);
  // A full rail is the whole portfolio; the share beside it is the same in words.
  const x = scaleLinear()
    .domain([0, Math.max(totalUsd, Number.MIN_VALUE)])
    .range([0, END - BEGIN]);
  const rows = bars.map(({ token, valueUsd }, index) => {
    const y = BODY.top + 70 + index * height;
    const part = totalUsd === 0 ? 0 : (valueUsd / totalUsd) * 100;
    return html`<text class="strong" x="${MARGIN}" y="${y + 28}">${token}</text
      ><rect class="rail" x="${BEGIN}" y="${y + 4}" width="${END - BEGIN}" height="28" rx="6" /><rect
        class="bar"
        x="${BEGIN}"
        y="${y + 4}"
        width="${Math.max(2, x(valueUsd)).toFixed(1)}"
        height="28"
        rx="6"
      /><text x="${END + 20}" y="${y + 27}">${part < 1 ? "< 1" : part.toFixed(0)} %</text
      ><text class="right" x="${WIDTH - MARGIN}" y="${y + 27}">$${usd(valueUsd)}</text>`;
  });
  return pictureOf(
    {
      title: "Your portfolio on Base",
      aside: dateTime(at),
      source: "At live prices",
      site,
    },
    html`<text class="figure" x="${MARGIN}" y="${BODY.top + 38}">$${usd(totalUsd)}</text>${rows}`,
  );
}
