import { v, type Infer } from "convex/values";
import { internal } from "../_generated/api";
import { action } from "../_generated/server";
import { defined } from "../lib/objects";
import { charge } from "../platform/limits/charges";
import { vHolding, vWalletKind } from "./tables";

/** Holdings worth less than this in USD are dust. */
const DUST_USD = 1;

const vWalletView = v.object({
  kind: vWalletKind,
  address: v.string(),
  balances: v.array(vHolding),
  /** The value of all holdings, dust included. */
  totalValueUsd: v.number(),
  /** Epoch ms. */
  pricedAt: v.number(),
  /** On paper: the holdings are the book's; and what the address really holds, if it is more than a dollar. */
  paper: v.optional(v.literal(true)),
  realValueUsd: v.optional(v.number()),
});

/**
 * The user's wallets and their holdings on the chain, without empty ones, and without dust unless requested. A holding
 * without a live price is always included.
 * @throws AppError `unauthorized`, `rate_limited`; `upstream` if the chain does not answer.
 */
export const view = action({
  args: { showDust: v.optional(v.boolean()) },
  returns: v.array(vWalletView),
  handler: async (ctx, { showDust = false }): Promise<Infer<typeof vWalletView>[]> => {
    const userId: string = await ctx.runQuery(internal.identity.access.getOwnUserId, {});
    await charge(ctx, "chain", { userId, address: null });
    const { readPortfolio } = await import("./holdings");
    const views = (["custody", "basic"] as const).map(async (kind) => {
      const wallet = await ctx.runQuery(internal.wallets.custody.wallets.findWalletRow, { userId, kind });
      if (wallet === null) return [];
      const { totalValueUsd, pricedAt, realValueUsd, ...portfolio } = await readPortfolio(ctx, wallet);
      const holdings = portfolio.balances.filter(({ raw }) => raw !== "0");
      const balances = holdings.filter(
        ({ valueUsd }) => showDust || valueUsd === null || valueUsd >= DUST_USD,
      );
      const mark = wallet.book === undefined ? {} : { paper: true as const, ...defined({ realValueUsd }) };
      return [{ kind, address: wallet.address, balances, totalValueUsd, pricedAt, ...mark }];
    });
    return (await Promise.all(views)).flat();
  },
});
