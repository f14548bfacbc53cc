import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { getSiteUrl } from "../lib/env";
import { AppError, getErrorData } from "../lib/errors";
import { formatDollars } from "../lib/text/numbers";
import { formatDateTime } from "../lib/time";
import { SECRET_MARK, type Secret } from "../messenger/tables";
import type { Paragraph } from "../messenger/format";
import {
  buildListCard,
  buildOffCard,
  buildProposalCard,
  buildSetCard,
  buildSkippedCard,
  type AlertCard,
} from "./cards";
import { isReached, toWatch } from "./conditions";
import type { Alert, Condition } from "./tables";
import { STANDING_ORDER_EXAMPLES, isStandingOrder } from "./terms";
import type { Refusal } from "./schedule";
import type { StandingOrderRequest } from "./standingWords";

/** Alerts and standing orders in a chat: the words of an order become a card, and taps change what is set. For actions. */

/** The path of an address that triggers an order. */
export const CALL_PATH = "/mcp/defi/standing/call";

/** The whole address of a token. */
export const buildCallUrl = (token: string): string => `${getSiteUrl()}${CALL_PATH}?token=${token}`;

/** The card of a standing order in a person's words. @throws AppError */
export async function answerStandingWords(
  ctx: ActionCtx,
  from: { userId: string; messengerId: string },
  request: StandingOrderRequest | Refusal,
): Promise<AlertCard> {
  if ("refusal" in request) return { answer: [[request.refusal], [STANDING_ORDER_EXAMPLES]], buttons: [] };
  await requireAhead(ctx, request.condition);
  const proposal = { ...from, ...request };
  return buildProposalCard((await ctx.runMutation(internal.alerts.standing.proposeStanding, proposal)).alert);
}

/**
 * Reads the live price of a level, which must not be reached yet.
 * @returns It in USD; `null` for another trigger.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function requireAhead(ctx: ActionCtx, condition: Condition): Promise<number | null> {
  if (condition.kind !== "price") return null;
  // Loaded on demand: it asks the chain.
  const { getLivePrice } = await import("../market/live");
  const { priceUsd } = await getLivePrice(ctx, condition.token === "BTC" ? "BTC" : "ETH");
  if (!isReached(toWatch(condition), priceUsd)) return priceUsd;
  const now = `${condition.token} is at ${formatDollars(priceUsd)}: that is true now`;
  throw new AppError(
    "invalid_request",
    `${now}, and a standing order waits for it to become true. Swap instead, or name another level`,
  );
}

/** What a button does to an alert, its id, and of a skip the time to pass over, in base 36. */
export const TAP_COMMAND = /^(set|once|off|mute|skip|rotate|again) +(\S{1,40})(?: (\w{1,10}))?$/;

/**
 * The card that follows a tap. The list says why nothing more can be set.
 * @param messengerId The account that taps.
 * @returns Also the token in a new address, which the card shows once.
 */
export async function answerTap(
  ctx: ActionCtx,
  userId: string,
  argument: string,
  messengerId: string,
): Promise<AlertCard & { secret?: Secret | undefined }> {
  const [, what, alertId = "", detail = ""] = TAP_COMMAND.exec(argument) ?? [];
  const own = { userId, alertId };
  const order = { userId, standingId: alertId };
  const list = async (note: string): Promise<AlertCard> =>
    buildListCard(await ctx.runQuery(internal.alerts.proposals.listAlerts, { userId }), Date.now(), note);
  try {
    switch (what) {
      case "off":
        return buildOffCard(
          await ctx.runMutation(internal.alerts.proposals.endAlert, { ...own, isChat: true }),
        );
      case "mute": {
        const { readyAt }: Alert = await ctx.runMutation(internal.alerts.proposals.mute, own);
        return await list(`Quiet until ${formatDateTime(readyAt)}.`);
      }
      case "skip": {
        const skipped = { ...order, isChat: true, skips: Number.parseInt(detail, 36) };
        return buildSkippedCard(await ctx.runMutation(internal.alerts.standing.stopStanding, skipped));
      }
      case "again": {
        const alert: Alert = await ctx.runMutation(internal.alerts.proposals.repeatAlert, {
          ...own,
          messengerId,
        });
        return isStandingOrder(alert) ? buildProposalCard(alert) : buildSetCard(alert);
      }
      case "rotate":
        return buildAddressCard(
          await ctx.runMutation(internal.alerts.standing.rotateAddress, { ...order, messengerId }),
        );
      default: {
        const accepted = { ...own, messengerId, once: what === "once" };
        return buildAddressCard(await ctx.runMutation(internal.alerts.proposals.accept, accepted));
      }
    }
  } catch (error) {
    const failure = getErrorData(error);
    if (failure?.code !== "conflict") throw error;
    return await list(`${failure.message}.`);
  }
}

function buildAddressCard({ alert, secret }: { alert: Alert; secret?: Secret | undefined }) {
  const address: Paragraph = [
    "Its address, shown this once. Whoever has it can trigger the order, and nothing else; paste it as the URL into the notifications of an alert on TradingView:\n",
    { code: buildCallUrl(SECRET_MARK) },
  ];
  return secret === undefined ? buildSetCard(alert) : { ...buildSetCard(alert, address), secret };
}
