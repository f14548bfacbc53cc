import type { Doc } from "../../_generated/dataModel";
import type { QueryCtx } from "../../_generated/server";
import { getMode, type Account } from "../../identity/model";
import { formatDateTime } from "../../lib/time";
import { queryByBoth } from "../../platform/records";
import { GAS_WAY } from "../model";
import { describeOrder, describeOrigin, ON_PAPER } from "./cards";
import { getStateAt } from "./questions";

/** Lists of an owner's orders in words, for the bot and the owner's page: open questions, and the newest orders. */

/** `what`: the order; `note`: its state; `more`: its origin, and why it failed. */
export type OrderSummary = { what: string; note: string; more: string; txHash?: string };

/** The most open questions of a wallet. */
const MOST_ASKED = 10;

/** The questions of a wallet that its owner may still answer. */
export async function listOpenQuestions(
  ctx: QueryCtx,
  walletId: string,
  now: number,
): Promise<OrderSummary[]> {
  const rows = queryByBoth(ctx.db.query("orders"), "walletId", walletId, "state", "asked");
  const questions = await Promise.all((await rows.take(MOST_ASKED)).map((row) => getStateAt(ctx, row, now)));
  const stillOpen = questions.filter(({ state }) => state === "asked");
  return Promise.all(
    stillOpen.map((row) => summarizeOrder(ctx, row, `until ${formatDateTime(row.nextCheckAt)}`)),
  );
}

const STATES: Partial<Record<Doc<"orders">["state"], string>> = {
  prepared: "about to be sent",
  signed: "sent",
  confirmed: "done",
};

/** The newest orders of the account's mode that were carried out or are under way. */
export async function listNewestOrders(
  ctx: QueryCtx,
  account: Pick<Account, "userId" | "paper">,
  most: number,
): Promise<OrderSummary[]> {
  const { userId } = account;
  const rows = await ctx.db
    .query("orders")
    .withIndex("by_userId_and_countedAt", (q) =>
      q.eq("userId", userId).eq("paper", getMode(account)).gt("countedAt", 0),
    )
    .order("desc")
    .take(most);
  const note = ({ state, countedAt, _creationTime: at }: Doc<"orders">) =>
    `${STATES[state] ?? state} · ${formatDateTime(countedAt ?? at)}`;
  return Promise.all(rows.map((row) => summarizeOrder(ctx, row, note(row))));
}

async function summarizeOrder(ctx: QueryCtx, row: Doc<"orders">, note: string): Promise<OrderSummary> {
  const { request, bought, keyId, txHash, error, paper } = row;
  const key = keyId === undefined ? null : await ctx.db.get("keys", keyId);
  const why = error === undefined ? "" : ` ${error.replace(GAS_WAY, "")}.`;
  const more = `Ordered ${describeOrigin(row, key?.name)}.${why}`;
  const link = txHash === undefined || paper === true ? {} : { txHash };
  const what = `${paper === true ? ON_PAPER : ""}${describeOrder(request, bought)}`;
  return { what, note, more, ...link };
}
