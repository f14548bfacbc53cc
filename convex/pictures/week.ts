import { SPAN } from "../pages/charts/frame";
import { weekChart } from "../pages/charts/week";
import { html, type Html } from "../pages/markup";
import { signed } from "../lib/text/numbers";
import { date } from "../lib/time";
import { sourceNames } from "../pages/words";
import type { PricePoint } from "../market/views";
import type { PublicSignal } from "../signals/shapes";
import { canvasBeside, MARGIN, pictureOf, rows } from "./card";

/** A week's signals on the path of each token's price. */

export type DrawnWeek = {
  /** Its Monday, `2026-11-16`. */
  week: string;
  tokens: readonly {
    token: string;
    signals: readonly PublicSignal[];
    closes: readonly PricePoint[];
  }[];
};

const ASIDE = 230;

export function weekPicture({ week, tokens }: DrawnWeek, site: string): string {
  return pictureOf(
    {
      title: "The week's signals",
      aside: `Week of ${date(Date.parse(week))}, after costs`,
      source: `Prices by ${sourceNames(tokens.flatMap(({ closes }) => closes))}`,
      site,
    },
    rows(tokens, tokenRow),
  );
}

function tokenRow(
  { token, signals, closes }: DrawnWeek["tokens"][number],
  row: { top: number; height: number },
): Html {
  const { top } = row;
  const count = (wanted: PublicSignal["status"]) => signals.filter(({ status }) => status === wanted).length;
  const results = signals.flatMap(({ afterCostsPercent: result }) =>
    typeof result === "number" ? [result] : [],
  );
  const sum = results.reduce((total, one) => total + one, 0);
  const kind = results.length === 0 || sum === 0 ? "flat" : sum > 0 ? "up" : "down";
  const words = html`<text class="figure" x="${MARGIN}" y="${top + 34}">${token}</text
    ><text class="strong ${kind}" x="${MARGIN}" y="${top + 76}"
      >${results.length === 0 ? "no result" : signed(sum)}</text
    ><text class="soft" x="${MARGIN}" y="${top + 110}">${count("WIN")} won, ${count("LOSS")} lost</text
    ><text class="soft" x="${MARGIN}" y="${top + 140}">${count("EXPIRED")} expired</text>`;
  const fitted = { above: 34, below: 34, apart: 0, values: 2, begin: 170, names: SPAN, marks: 1.8 };
  return html`${words}${weekChart(token, signals, closes, canvasBeside(ASIDE, row, fitted))}`;
}
