import { expect, test } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { newWallet, send, transferTo } from "../chain/support";
import { ETHER, chain, useChain } from "../support/chain/chain";
import { browserOf } from "../support/browser";
import { byChance, laggingNodes } from "../support/laggingNodes";
import { closeApp } from "../support/world";
import { createPaidApp, ONE, PLATFORM } from "../payments/payer";
import { RUNS, timePassing, useTime } from "./harness";
import { random } from "../../scripts/standins/random";

/** Two nodes behind one address, of which one lags one to three blocks: every deposit is credited, once. */

useChain();
useTime();

const DEPOSITS = RUNS > 2 ? 100 : 5;
const balanceShape = z.object({ balance: z.number() });

test.for([
  ["with the usual confirmations, within minutes", "10", 0, 2],
  ["with one, which a late node's logs may not show, within the hour", "1", 60, 8],
] as const)("%s", async ([_name, CONFIRMATIONS, longWait, minutes]) => {
  const app = createPaidApp(chain, { env: { CONFIRMATIONS } });
  const pass = timePassing(app);
  const chance = random("lagging deposits", CONFIRMATIONS);
  const browser = browserOf(app, "alice");
  await browser.mutation(api.accounts.profile.signIn, {});
  const wallet = await newWallet(chain, { ETH: ETHER, USDC: BigInt(DEPOSITS) * ONE });
  const { issuedAt, message } = await browser.action(api.accounts.actions.challenge, {
    address: wallet.address,
  });
  const signature = await wallet.signMessage({ message });
  await browser.action(api.accounts.actions.linkAddress, { address: wallet.address, issuedAt, signature });
  await pass(1);
  const { end, late } = laggingNodes(byChance(chance));
  for (let i = 0; i < DEPOSITS; i++) {
    const { transactionHash: txHash } = await send(chain, wallet, {
      to: chain.addresses.tokens.USDC,
      data: transferTo(PLATFORM, ONE),
    });
    for (let blocks = chance.whole(0, 3); blocks > 0; blocks--) await chain.miner.mine();
    if (chance.between(0, 1) < 0.5) await app.post("/indexer/deposit", { txHash });
    if (chance.between(0, 1) < 0.5) await pass(1);
  }
  for (let block = 0; block < 12; block++) await chain.miner.mine();
  await pass(longWait, 6);
  // The late node's blocks of steps of six minutes would be too old to be believed.
  await pass(minutes);
  end();
  expect(late.length).toBeGreaterThan(0);
  const { balance } = balanceShape.parse(await browser.query(api.credits.app.balance, {}));
  expect(balance).toBe(100 * DEPOSITS);
  closeApp();
});
