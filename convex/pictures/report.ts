import { dateTime } from "../lib/time";
import { SPAN, type Canvas } from "../pages/charts/frame";
import { relativeChart } from "../pages/charts/relative";
import { sourceNames } from "../pages/words";
import type { PricePoint } from "../prices/shown";
import { BODY, MARGIN, pictureOf, WIDTH } from "./card";

/** How a shift's token has moved since the shift began, against another. */

/** @property source As its collector names it, or as readers know it. */
export type SeenPrice = Pick<PricePoint, "at" | "priceUsd"> & { source: string };

export type DrawnReport = {
  /** What the shift was about. */
  subject: string;
  generatedAt: string;
  /** The first is what it is about. */
  tokens: readonly { name: string; path: readonly SeenPrice[] }[];
};

export function reportPicture({ subject, generatedAt, tokens }: DrawnReport, site: string): string {
  const height = BODY.bottom - BODY.top;
  const canvas: Canvas = {
    place: { x: MARGIN, y: BODY.top, width: WIDTH - 2 * MARGIN, height },
    bottom: ((height - 38) / height) * SPAN,
    top: (34 / height) * SPAN,
    values: 4,
    begin: 110,
    names: 790,
    apart: (34 / height) * SPAN,
    marks: 2,
  };
  return pictureOf(
    {
      title: `${subject} since the shift began`,
      aside: dateTime(Date.parse(generatedAt)),
      source: `Prices by ${sourceNames(tokens.flatMap(({ path }) => path))}`,
      site,
    },
    relativeChart("report", tokens, canvas),
  );
}
