import { describe, expect } from "vitest";
import { chain, test, useChain, usdcOf } from "../support/chain/chain";
import { closeApp, type Answer } from "../support/world";
import {
  authorize,
  buy,
  buyWith,
  createPaidApp,
  ONE,
  payer,
  PLATFORM,
  transfer,
  versionOne,
  versionTwo,
  writings,
} from "../payments/payer";
import { walks } from "./harness";

/** A payment buys one report, and is made once. */

useChain();

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
