import { pad, toFunctionSelector } from "viem";
import { expect } from "vitest";
import { send } from "../chain/support";
import { chain, useChain } from "../support/chain";
import { expireLeases } from "../support/leases";
import { answering } from "../support/rpc";
import { replace } from "../support/world";
import {
  authorize,
  buy,
  ONE,
  payer,
  received,
  settlementCall,
  test,
  versionTwo,
  withFacilitator,
} from "./paying";

/** A payment that was made is not refused for the age of the promise that it fulfils. */

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
