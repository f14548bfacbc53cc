import type { QueryCtx } from "../_generated/server";
import { DAY } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { newsOf } from "./cards";
import { COINS, isCoin } from "./coins";
import { latestAlerts } from "./model";

const SHOWN = 3;
/** How many are searched for the largest. */
const LOOK_AT = 200;

/** The part of a user's daily digest about measured movements. */
export async function whalesDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const largest = (await latestAlerts(ctx, now - DAY, LOOK_AT))
    .filter(({ movement }) => movement !== undefined)
    .toSorted((a, b) => b.amount - a.amount)
    .slice(0, SHOWN);
  const lines = largest.map(
    ({ token, amount, alertType }) =>
      `\n${newsOf({ token: isCoin(token) ? COINS[token].name : token, amount, alertType })}`,
  );
  return [
    { bold: "Largest movements on Base in 24 hours" },
    ...(lines.length === 0 ? ["\nNone was measured."] : lines),
  ];
}
