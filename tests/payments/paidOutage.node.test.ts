import { expect } from "vitest";
import { send } from "../chain/support";
import { chain, useChain } from "../support/chain";
import { authorize, buy, withFacilitator, headerOf, payer, settlementCall, versionOne, test } from "./paying";

/** The service was away for longer than used authorizations are usually looked for. */

useChain();

/** More than an hour of Base's blocks, and more than are asked for at a time. */
const BLOCKS = 2_300;
const AWAY_MS = 77 * 60_000;

test("a payment that a facilitator made before an outage of over an hour is found, from when it was claimed", async () => {
  const app = withFacilitator(() => Promise.reject(new TypeError("connection refused")));
  const authorized = await authorize(await payer(chain));
  expect((await buy(app, versionOne(authorized))).status).toBe(502);
  // It had arrived all the same.
  const { transactionHash } = await send(chain, await payer(chain), settlementCall(authorized));
  await chain.rpc("anvil_mine", [`0x${BLOCKS.toString(16)}`]);
  await app.t.run(async (ctx) => {
    for (const { _id, createdAt } of await ctx.db.query("paymentClaims").collect()) {
      await ctx.db.patch("paymentClaims", _id, { createdAt: createdAt - AWAY_MS });
    }
  });
  const answer = await buy(app, versionOne(authorized));
  expect([answer.status, answer.body.error]).toEqual([200, undefined]);
  expect(headerOf(answer, "x-payment-response")).toMatchObject({ transaction: transactionHash });
});
