import { dateTime } from "../lib/time";
import { relativeChart } from "../pages/charts/relative";
import { sourceNames } from "../pages/words";
import type { PricePoint } from "../market/views";
import { BODY, canvasBeside, pictureOf } from "./card";

/** How a shift's token has moved since the shift began, compared with another token. */

/** @property source Its name, as the collector has it or as readers know it. */
export type SeenPrice = Pick<PricePoint, "at" | "priceUsd"> & { source: string };

export type DrawnReport = {
  /** What the shift was about. */
  subject: string;
  generatedAt: string;
  /** The first is the one that the shift was about. */
  tokens: readonly { name: string; path: readonly SeenPrice[] }[];
};

export function reportPicture({ subject, generatedAt, tokens }: DrawnReport, site: string): string {
  const row = { top: BODY.top, height: BODY.bottom - BODY.top };
  const fitted = { above: 34, below: 38, apart: 34, values: 4, begin: 110, names: 790, marks: 2 };
  return pictureOf(
    {
      title: `${subject} since the shift began`,
      aside: dateTime(Date.parse(generatedAt)),
      source: `Prices by ${sourceNames(tokens.flatMap(({ path }) => path))}`,
      site,
    },
    relativeChart("report", tokens, canvasBeside(0, row, fitted)),
  );
}
