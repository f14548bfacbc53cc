import { internal } from "../../_generated/api";
import type { ActionCtx } from "../../_generated/server";
import { AppError } from "../../lib/errors";
import { MOST_FEE } from "../../lib/money/base";
import { defined } from "../../lib/objects";
import { requireCovered } from "../book";
import { valuePaperStart } from "../holdings";
import { getOutgoing, isUserRequest } from "../model";
import type { Book, UserRequest } from "../tables";
import { buildUsualSend, estimateFees, feeTooHighError, type PricedCall } from "./calls";
import type { Order } from "./model";
import { quoteSwapOnPaper } from "./swaps";

/** Orders on paper: quoted as live ones, and carried out in the book. Nothing is signed. For actions. */

/** @throws AppError as the order would get live, but for what the wallet holds. */
async function quoteOnPaper(payer: Pick<Order, "address" | "minBuyAmount">, request: UserRequest) {
  if (request.kind === "gas") throw new AppError("internal", "Fees on paper are paid from the book");
  const quoted: { call: PricedCall; usualCostBps: number | null; terms?: Order["terms"] } =
    request.kind === "swap" ? await quoteSwapOnPaper(request, payer) : buildUsualSend(request);
  const { call, ...offer } = quoted;
  const fees = await estimateFees(call);
  if (fees.mostFee > MOST_FEE) throw feeTooHighError(fees.mostFee, MOST_FEE);
  return { ...offer, ...fees };
}

/**
 * An order on paper up to the move of its book.
 * @param margin Factor by which fees may rise, up to the general ceiling, before it is carried out.
 * @throws AppError as `quoteOnPaper`; `invalid_request` if the book does not cover it.
 */
export async function rehearseOnPaper(
  payer: Pick<Order, "address"> & { book: Pick<Book, "past"> },
  request: UserRequest,
  margin: bigint,
) {
  const { usualFee, mostFee, ...offer } = await quoteOnPaper(payer, request);
  const { token, amount } = getOutgoing(request);
  requireCovered(payer.book.past, { token, raw: BigInt(amount) }, usualFee);
  const most = mostFee * margin < MOST_FEE ? mostFee * margin : MOST_FEE;
  return { ...offer, usualFee, mostFee: most, feesInAll: most };
}

/** Carries out an order in the book. @throws AppError with the reason for the order's end. */
export async function fillOrder(ctx: ActionCtx, row: Order): Promise<void> {
  const { _id: orderId, request } = row;
  if (!isUserRequest(request)) throw new AppError("internal", "This is no order of a user's");
  const [{ usualFee, mostFee, terms }, startValues] = await Promise.all([
    quoteOnPaper(row, request),
    valuePaperStart(),
  ]);
  if (mostFee > BigInt(row.mostFee)) throw feeTooHighError(mostFee, BigInt(row.mostFee));
  await ctx.runMutation(internal.wallets.orders.paperSteps.settleOnPaper, {
    orderId,
    fee: usualFee.toString(),
    startValues,
    ...defined({ terms }),
  });
}
