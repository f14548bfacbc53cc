import { pad, toFunctionSelector } from "viem";
import { expect } from "vitest";
import { send } from "../../chain/support";
import { chain, useChain } from "../../support/chain/chain";
import { expireLeases } from "../../support/rows/leases";
import { answering } from "../../support/chain/rpc";
import { replace } from "../../support/world";
import {
  authorize,
  buy,
  headerOf,
  now,
  ONE,
  payer,
  received,
  settlementCall,
  test,
  versionOne,
  versionTwo,
  withFacilitator,
} from "../payer";

/** A facilitator has made the payment, and its answer is lost, or the service was away: the payer gets the report. */

useChain();

const AUTHORIZATION_STATE = toFunctionSelector("authorizationState(address,bytes32)").slice(2);

test("a facilitator that has taken the dollar and lost the answer leaves the payer its report, also when the node is behind and the authorization has expired since", async () => {
  const authorized = await authorize(await payer(chain));
  const gas = await payer(chain);
  const app = withFacilitator(async () => {
    await send(chain, gas, settlementCall(authorized));
    throw new TypeError("connection lost");
  });
  const header = versionTwo(authorized);
  const moved = await received(async () => expect((await buy(app, header)).status).toBe(502));
  expect(moved).toBe(ONE);

  const later = Date.now() + 400_000 - performance.now();
  replace(Date, "now", () => Math.floor(later + performance.now()));
  // It still knows the state from before the payment.
  const catchUp = answering(({ method, params }) => {
    if (method === "eth_estimateGas")
      return { error: { code: 3, message: "execution reverted: FiatTokenV2: authorization is expired" } };
    const asked = JSON.stringify(params);
    return method === "eth_call" && asked.includes(AUTHORIZATION_STATE) ? { result: pad("0x") } : null;
  });
  const again = async () => {
    await expireLeases(app);
    const { status, body } = await buy(app, header);
    return [status, body.reason ?? body.error];
  };
  expect(await again()).toEqual([502, expect.stringContaining("send the same proof again")]);
  await app.t.run(async (ctx) => {
    for (const { _id, unlocatedSince = 0 } of await ctx.db.query("paymentClaims").collect())
      await ctx.db.patch("paymentClaims", _id, { unlocatedSince: unlocatedSince - 601_000 });
  });
  const expired = "invalid_exact_evm_payload_authorization_valid_before";
  expect(await again()).toEqual([402, expired]);
  catchUp();
  expect((await again())[0]).toBe(200);
  expect((await buy(app, versionTwo(await authorize(gas, { validBefore: 1n })))).body.reason).toBe(expired);
  expect(await app.rows("spentTransfers")).toHaveLength(1);
});

/** More than an hour of Base's blocks, and more than are asked for at a time. */
const BLOCKS = 2_300;
const AWAY_MS = 77 * 60_000;

test("a payment that a facilitator made before an outage of over an hour is found, from when it was claimed", async () => {
  const app = withFacilitator(() => Promise.reject(new TypeError("connection refused")));
  // The test before has left the chain ahead of this time.
  const authorized = await authorize(await payer(chain), { validBefore: now() + 3_600n });
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
