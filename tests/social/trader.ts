import { api } from "../../convex/_generated/api";
import type { Chain } from "../../scripts/chain";
import { until } from "../support/waits";
import { chain, ETHER, test as chainTest } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { countAtOnce, linkedUser, SECRET } from "./support";

/** A linked author with money in their wallet, and what became of their mentions. */

const plenty = { ETH: ETHER, USDC: 5_000_000_000n, DAI: 5_000n * ETHER };

export async function world({
  env = {},
  amounts = plenty,
}: { env?: Record<string, string>; amounts?: Parameters<Chain["fund"]>[1] } = {}) {
  const app = createWalletApp(chain, { env: { SOCIAL_WEBHOOK_SECRET: SECRET, ...env } });
  const user = await linkedUser(app, () => app.settle());
  await app.fundedWallet(user.userId, amounts);
  return { app, ...user };
}

export const test = chainTest.extend<{ app: WalletApp }>({
  app: async ({ task: _task }, use) => use((await world()).app),
});

/** Waits until no mention is pending and every card is out; returns the newest, its trade, and the orders. */
export async function outcome(app: WalletApp) {
  await until(async () => {
    const told = (await app.rows("messages")).every(({ state }) => state !== "queued" && state !== "sending");
    return told && (await app.rows("mentions")).every(({ status }) => status !== "pending");
  });
  const row = (await app.rows("mentions")).at(-1);
  const transactions = await app.rows("orders");
  return { row, trade: transactions.find(({ _id }) => _id === row?.tradeId), transactions };
}

/** Puts an address on the user's list, where it counts at once. */
export async function allow(
  { app, browser }: Pick<Awaited<ReturnType<typeof world>>, "app" | "browser">,
  address: string,
): Promise<void> {
  await browser.mutation(api.accounts.recipients.add, { address });
  await countAtOnce(app);
}
