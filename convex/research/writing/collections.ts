import { LISTS } from "../../market/facts";
import { MAJORS } from "../../lib/money/tokens";
import type { Wanted } from "../../market/tables";

/** Everything that is collected for a report on a focus ("" for the whole market). */
export function wantedFor(focus: string): Wanted[] {
  const coins = [...new Set([...MAJORS, ...(focus === "" ? [] : [focus])])];
  return [
    ...LISTS,
    ...coins.flatMap((subject): Wanted[] => [
      { collector: "day", subject },
      { collector: "book", subject },
      { collector: "candles", subject },
    ]),
    { collector: "perpetuals", subject: "" },
    { collector: "base", subject: "" },
    { collector: "news", subject: focus },
  ];
}
