import type { QueryCtx } from "../_generated/server";
import { dollars } from "../lib/text/strings";
import { DAY } from "../lib/time";
import type { Paragraph } from "../messenger/format";
import { COINS, isCoin } from "./coins";
import { latestAlerts } from "./model";

const SHOWN = 3;
/** Looked at for the largest. */
const LOOK_AT = 200;
const WAYS = {
  cex_inflow: "into an exchange",
  cex_outflow: "out of an exchange",
  large_transfer: "moved",
  smart_money: "moved",
} as const;

/** The part of a user's daily digest that is about measured movements. */
export async function whalesDigest(ctx: QueryCtx, now: number): Promise<Paragraph> {
  const largest = (await latestAlerts(ctx, now - DAY, LOOK_AT))
    .filter(({ movement }) => movement !== undefined)
    .toSorted((a, b) => b.amount - a.amount)
    .slice(0, SHOWN);
  const lines = largest.map(
    ({ token, amount, alertType }) =>
      `\n${dollars(amount)} of ${isCoin(token) ? COINS[token].name : token}, ${WAYS[alertType]}`,
  );
  return [
    { bold: "Largest movements on Base in 24 hours" },
    ...(lines.length === 0 ? ["\nnone measured"] : lines),
  ];
}
