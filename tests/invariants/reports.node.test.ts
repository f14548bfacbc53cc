import { toHex } from "viem";
import { describe, expect } from "vitest";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { chain, nonceOf, test, useChain, usdcOf } from "../support/chain/chain";
import { miscounting } from "../support/chain/rpc";
import { unreachDeadlines } from "../support/chain/walletApp";
import { dieAt } from "../support/crashes";
import { closeApp, type Answer } from "../support/world";
import {
  authorize,
  buy,
  buyWith,
  createPaidApp,
  now,
  ONE,
  payer,
  PLATFORM,
  relayer,
  transfer,
  versionOne,
  versionTwo,
  writings,
} from "../payments/payer";
import { DEATHS, timePassing, useTime, walks } from "./harness";

/** A payment buys one report, and is made once. */

useChain();
useTime();

/** The different reports that were given. */
const given = (answers: readonly Answer[]) =>
  new Set(answers.filter(({ status }) => status === 200).map(({ body }) => JSON.stringify(body.result)));

describe("one payment", () => {
  test("by whichever proof, however often and wherever it is shown at once, buys one report", async () => {
    await walks("reports", async (chance) => {
      for (const form of ["hash", "version one", "version two"]) {
        const app = createPaidApp(chain);
        const from = await payer(chain);
        const signed = await authorize(from);
        const before = await usdcOf(PLATFORM);
        const hash = form === "hash" ? await transfer(chain, from) : "";
        const show = (token: string) =>
          form === "hash"
            ? buyWith(app, hash, { token })
            : buy(app, form === "version one" ? versionOne(signed) : versionTwo(signed), { token });
        const tokens = chance.shuffled(["BTC", "ETH", "BTC", "ETH", "BTC"]);
        const answers = await Promise.all(tokens.map(show));
        for (const token of tokens) answers.push(await show(token));
        await app.settle();
        expect([form, given(answers).size]).toEqual([form, 1]);
        expect([form, writings(app)]).toEqual([form, 1]);
        expect([form, (await usdcOf(PLATFORM)) - before]).toEqual([form, ONE]);
        closeApp();
      }
    });
  });

  test("that is signed, and carried out by the service, shown by its hash buys no second report", async () => {
    const app = createPaidApp(chain);
    const signed = await authorize(await payer(chain));
    const first = await buy(app, versionTwo(signed), { token: "BTC" });
    expect(first.status).toBe(200);
    const hash = /0x[0-9a-f]{64}/.exec(
      Buffer.from(first.headers.get("payment-response") ?? "", "base64").toString(),
    )?.[0];
    expect(hash).toBeDefined();
    const again = await buyWith(app, hash ?? "", { token: "ETH" });
    expect(given([first, again]).size).toBe(1);
    expect(writings(app)).toBe(1);
  });
});

describe("a signed payment that no block takes in time", () => {
  test("is withdrawn and made again, once", async () => {
    const app = createPaidApp(chain);
    const pass = timePassing(app);
    const signed = await authorize(await payer(chain), { validBefore: now() + 80_000n });
    const before = await usdcOf(PLATFORM);
    const show = () => buy(app, versionTwo(signed), { token: "BTC" });
    deadlines.receipt = deadlines.transaction = deadlines.caller = 300;
    await chain.miner.pause();
    expect((await show()).status).toBe(502);
    await pass(12, 2);
    chain.miner.resume();
    await pass(3);
    unreachDeadlines();
    expect((await show()).status).toBe(200);
    expect((await usdcOf(PLATFORM)) - before).toBe(ONE);
  });
});

describe("a node that lies about the relayer", () => {
  test.for([
    ["has made many", 5_000],
    ["has made none, and its key has signed elsewhere", 0],
  ] as const)("which %s holds up its payments, and loses none", async ([_name, count]) => {
    await chain.rpc("anvil_setNonce", [relayer.address, toHex((await nonceOf(relayer.address)) + 5)]);
    const app = createPaidApp(chain);
    const pass = timePassing(app);
    const before = await usdcOf(PLATFORM);
    const proofs = [];
    for (let n = 0; n < 2; n++) {
      const signed = await authorize(await payer(chain), { validBefore: now() + 80_000n });
      proofs.push(versionTwo(signed));
    }
    deadlines.receipt = deadlines.transaction = deadlines.caller = 300;
    const honest = miscounting(() => count);
    for (const proof of proofs) expect((await buy(app, proof)).status).toBe(502);
    honest();
    await pass(14, 2);
    unreachDeadlines();
    for (const proof of proofs) expect((await buy(app, proof)).status).toBe(200);
    expect((await usdcOf(PLATFORM)) - before).toBe(2n * ONE);
  });
});

/** More than the calls until a payment is made. */
const PAYING = 16;

describe("a death at each call of a signed payment", () => {
  test.each(DEATHS)("%s its effect pays once, and gives the report", async (moment, first, step) => {
    let died = 0;
    // The payment's own calls come first; then the sources', of which some are enough.
    for (let n = first; ; n += n < PAYING ? step : 24) {
      const app = createPaidApp(chain);
      const pass = timePassing(app);
      const signed = await authorize(await payer(chain), { validBefore: now() + 80_000n });
      const before = await usdcOf(PLATFORM);
      const show = () => buy(app, versionTwo(signed), { token: "BTC" });
      const death = dieAt(n, moment);
      const reached = await Promise.race([death.dead, show().then(() => false)]);
      death.revive();
      if (!reached) {
        closeApp();
        break;
      }
      died++;
      await app.giveUpTheDead();
      await pass(3);
      const answer = await show();
      const context = `${moment} ${n}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 200)}`;
      expect([context, answer.status]).toEqual([context, 200]);
      expect([context, (await usdcOf(PLATFORM)) - before]).toEqual([context, ONE]);
      const again = await show();
      expect([context, given([answer, again]).size]).toEqual([context, 1]);
      closeApp();
    }
    expect(died).toBeGreaterThanOrEqual(PAYING / 3);
  });
});
