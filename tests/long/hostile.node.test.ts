import { afterAll, afterEach, beforeAll } from "vitest";
import type { Chain } from "../../scripts/stack/chain";
import { flood } from "../hostile/flood";
import { closeApp } from "../support/world";
import { startTestChain } from "../support/walletApp";

/** The whole flood: 9,500 requests. */

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(closeApp);

flood({ seed: Number(process.env["LONG_SEED"] ?? 20_260_105), batches: 16, each: 500, chain: () => chain });
