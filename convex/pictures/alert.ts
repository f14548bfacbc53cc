import type { Condition } from "../alerts/tables";
import type { DrawnHistory } from "../alerts/observations";
import { FUNDING_HOURS, lineOf } from "../alerts/grammar";
import { dateTime, DAY } from "../lib/time";
import { thresholdChart } from "../pages/charts/threshold";
import { bigUsd, percent, shortUsd, signed } from "../lib/text/numbers";
import { sourceNames } from "../pages/words";
import { BODY, canvasBeside, pictureOf } from "./card";

/** A week of the value that an alert watches, its level, and when it would have fired. */
export type DrawnAlert = DrawnHistory & { condition: Condition; now: number };

const DAYS = 7;

export function alertPicture({ condition, now, path, fired, level }: DrawnAlert, site: string): string {
  const row = { top: BODY.top, height: BODY.bottom - BODY.top };
  const fitted = { above: 34, below: 38, apart: 34, values: 4, begin: 130, names: 800, marks: 2 };
  const line = lineOf(condition, "$");
  const title = line.charAt(0).toUpperCase() + line.slice(1);
  // Rates are stored per hour, and shown for the hours that exchanges quote them for.
  const hours = condition.kind === "funding" ? FUNDING_HOURS : 1;
  const inUnit = (values: DrawnHistory["path"]) =>
    values.map((one) => ({ ...one, value: one.value * hours }));
  const written = (value: number) => {
    if (condition.kind === "change") return signed(value);
    if (condition.kind === "funding") return percent(Number(value.toPrecision(4)));
    return condition.kind === "flow" ? bigUsd(value) : shortUsd(value);
  };
  return pictureOf(
    {
      title,
      aside: `7 days until ${dateTime(now)}`,
      source: condition.kind === "flow" ? "Movements measured on Base" : `By ${sourceNames(path)}`,
      site,
    },
    thresholdChart(
      { path: inUnit(path), fired: inUnit(fired), level: level * hours },
      { id: "alert", title, isEvents: condition.kind === "flow", written },
      { from: now - DAYS * DAY, to: now },
      canvasBeside(0, row, fitted),
    ),
  );
}
