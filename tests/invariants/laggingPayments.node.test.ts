import { expect, test } from "vitest";
import { random } from "../../scripts/standins/random";
import { chain, useChain, usdcOf } from "../support/chain/chain";
import { waitForLaggingNodes } from "../support/chain/walletApp";
import { byChance, laggingNodes } from "../support/laggingNodes";
import { authorize, buy, createPaidApp, ONE, payer, PLATFORM, versionTwo } from "../payments/payer";
import { RUNS, useTime } from "./harness";

/** Two nodes behind one address, of which one lags one to three blocks; each request reaches either by chance. */

useChain();
useTime();

const PAYMENTS = RUNS > 2 ? 100 : 5;

test("signed payments of payers who were paid a moment ago each pay once and buy their report", async () => {
  const app = createPaidApp(chain);
  waitForLaggingNodes();
  const before = await usdcOf(PLATFORM);
  for (let i = 0; i < PAYMENTS; i++) {
    const signed = versionTwo(await authorize(await payer(chain, ONE)));
    const nodes = laggingNodes(byChance(random("lagging payments", i)));
    const { status, body } = await buy(app, signed, { token: "BTC" }, { ip: `10.0.0.${i}` });
    nodes.end();
    expect([i, status, body.error]).toEqual([i, 200, undefined]);
    expect([i, (await usdcOf(PLATFORM)) - before]).toEqual([i, BigInt(i + 1) * ONE]);
  }
});
