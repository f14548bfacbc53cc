import type { Doc } from "../../_generated/dataModel";
import type { MutationCtx } from "../../_generated/server";
import { formatUnits } from "../../lib/money/amounts";
import { enqueueCard, linkedChat } from "../../messenger/model";
import type { Permit } from "../../users/access";
import { TOKENS, type Symbol } from "../tokens";
import type { Source } from "../tables";
import type { TransactionRequest } from "./tables";

/** What an owner's chat is told of what moves in their name. */

function amountOf(amount: string, token: Symbol): string {
  return `${formatUnits(BigInt(amount), TOKENS[token].decimals)} ${token}`;
}

/** An order in one line, without its recipient. @param least The least that a swap may bring, digits. */
export function requestWords(request: TransactionRequest, least: string | undefined): string {
  if (request.kind === "send") return `Send ${amountOf(request.amount, request.token)}`;
  if (request.kind !== "swap") return request.kind;
  const { amount, fromToken, toToken } = request;
  const bound = least === undefined ? "" : `, for at least ${amountOf(least, toToken)}`;
  return `Swap ${amountOf(amount, fromToken)} to ${toToken}${bound}`;
}

type Told = Pick<Doc<"transactions">, "userId" | "request"> & {
  permit: Permit;
  source: Source;
  payer: Pick<Doc<"wallets">, "kind" | "address">;
};

/**
 * Tells the account that its owner has linked of an order as it is opened, with a button that stops what is not signed yet.
 * What they have tapped for themself is told by its own card.
 */
export async function tellOrder(
  ctx: MutationCtx,
  { userId, request, permit: { by, key }, source, payer }: Told,
): Promise<void> {
  if (by === "approval" || by === "unclaimed") return;
  const chatId = await linkedChat(ctx, userId);
  if (chatId === null) return;
  const shown =
    key !== undefined
      ? `with your key ${key.name}`
      : by === "id"
        ? "by your userId alone"
        : "with your token";
  const way = source === "x" ? "by a post of yours" : shown;
  const lines = [
    `From your ${payer.kind} wallet ${payer.address}`,
    ...(request.kind === "send" ? [`To ${request.toAddress}`] : []),
    `Ordered ${way}. If that was not you, freeze your account.`,
  ];
  await enqueueCard(ctx, {
    ...{ userId, chatId, bot: "default", kind: "order" },
    paragraphs: [[{ bold: requestWords(request, undefined) }], ...lines.map((line) => [line])],
    buttons: [[{ text: "🧊 Freeze", command: "freeze" }]],
  });
}
