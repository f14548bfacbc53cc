import { beginReading } from "../../convex/payments/deposits";
import { chain, test as chainTest } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";
import { PLATFORM } from "./authorizations";

/** Apps that read deposits. */

export const createDepositApp = (env: Record<string, string | undefined> = {}) =>
  createWalletApp(chain, { env: { PLATFORM_WALLET_ADDRESS: PLATFORM, CONFIRMATIONS: "1", ...env } });

/** The cron's minute. */
export async function minute(app: WalletApp): Promise<void> {
  await app.t.run(beginReading);
  await app.settle();
}

/** Tests with an app that has begun to read. */
export const test = chainTest.extend<{ app: WalletApp }>({
  // The second argument is the test runner's own.
  app: async ({ settings }, use) => {
    const app = createDepositApp(settings.env);
    await minute(app);
    await use(app);
  },
});
