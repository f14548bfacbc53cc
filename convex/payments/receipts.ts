import { internal } from "../_generated/api";
import type { ActionCtx } from "../_generated/server";
import { optional } from "../lib/env";
import { messageOf } from "../lib/errors";
import { log } from "../lib/log";
import { USDC } from "../lib/money/base";
import { once } from "../lib/once";
import { DAY, SECOND } from "../lib/time";
import { typedOffer, typedReceipt, type Offer, type Receipt, type Signed } from "./artifacts";
import { NETWORK_V2, PRICE } from "./terms";

/**
 * Signed offers and receipts, by the relayer's key, since the service does not hold the platform wallet's. Nothing
 * depends on them, so one that cannot be signed is left out. For actions.
 */

const custody = once(() => import("../wallets/custody/signatures"));

async function unlessFailing<Value>(work: () => Promise<Value>): Promise<Value | null> {
  if (optional("X402_RELAYER_PRIVATE_KEY") === undefined) return null;
  try {
    return await work();
  } catch (error) {
    log.warn("payments.not signed", { reason: messageOf(error) });
    return null;
  }
}

/** Today's terms, valid until the end of tomorrow (UTC): signed once a day, and stored for all callers. */
export async function signedOffer(
  ctx: ActionCtx,
  { resourceUrl, payTo }: Pick<Offer, "resourceUrl" | "payTo">,
): Promise<Signed<Offer> | null> {
  return unlessFailing(async () => {
    const validUntil = ((Math.floor(Date.now() / DAY) + 2) * DAY) / SECOND;
    const payload: Offer = {
      ...{ version: 1, resourceUrl, scheme: "exact", network: NETWORK_V2, asset: USDC, payTo },
      ...{ amount: PRICE.toString(), validUntil },
    };
    const offer = JSON.stringify(payload);
    const stored: string | null = await ctx.runQuery(internal.payments.offers.signatureOf, { offer });
    if (stored !== null) return { format: "eip712", payload, signature: stored };
    const signature = await (await custody()).attest("relayer", typedOffer(payload));
    await ctx.runMutation(internal.payments.offers.keep, { offer, signature });
    return { format: "eip712", payload, signature };
  });
}

/** The receipt of a report: the same each time the report is returned. */
export async function signedReceipt(
  receipt: Pick<Receipt, "resourceUrl" | "payer" | "transaction"> & { deliveredAt: number },
): Promise<Signed<Receipt> | null> {
  return unlessFailing(async () => {
    const { deliveredAt, ...purchase } = receipt;
    const issuedAt = Math.floor(deliveredAt / SECOND);
    const payload: Receipt = { version: 1, network: NETWORK_V2, ...purchase, issuedAt };
    const signature = await (await custody()).attest("relayer", typedReceipt(payload));
    return { format: "eip712", payload, signature };
  });
}
