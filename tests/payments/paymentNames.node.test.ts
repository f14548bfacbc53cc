import { describe, expect } from "vitest";
import { chain, usdcOf, useChain } from "../support/chain/chain";
import {
  aged,
  authorize,
  buy,
  headerOf,
  ONE,
  payer,
  received,
  stranger,
  test,
  transfer,
  versionTwo,
  writings,
} from "./payer";

/** Purchases that their payer has given a name (x402's `payment-identifier`): the same name is the same purchase. */

useChain();

const NAME = "pay_7d5d747be160e280504c099d984bcfe0";
const BTC = { token: "BTC" };

describe("a purchase under a name of its payer's", () => {
  test("is the same one under another signature: the dollar moves once, also where it was the payer's last", async ({
    app,
  }) => {
    const from = await payer(chain, ONE);
    const once = versionTwo(await authorize(from), NAME);
    const first = await buy(app, once, BTC);
    expect(first.status).toBe(200);
    expect(await usdcOf(from.address)).toBe(0n);
    let second = first;
    expect(
      await received(async () => {
        second = await buy(app, versionTwo(await authorize(from), NAME), BTC);
      }),
    ).toBe(0n);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(headerOf(second, "payment-response")).toEqual(headerOf(first, "payment-response"));
    expect([writings(app), (await app.rows("paymentClaims")).length]).toEqual([1, 1]);
    // Whoever has copied the proof from the chain gets nothing after five minutes; who signs anew has an hour.
    await aged(app, 30 * 60_000);
    expect((await buy(app, once, BTC)).body["reason"]).toBe("payment_already_used");
    expect((await buy(app, versionTwo(await authorize(from), NAME), BTC)).body).toEqual(first.body);
    await aged(app, 31 * 60_000);
    const late = await buy(app, versionTwo(await authorize(from), NAME), BTC);
    expect([late.status, late.body["reason"]]).toEqual([402, "payment_already_used"]);
  });

  test("sent under several signatures at once is carried out once, and all get the report", async ({
    app,
  }) => {
    const from = await payer(chain);
    const proofs = await Promise.all([1, 2, 3, 4].map(() => authorize(from)));
    const moved = await received(async () => {
      const answers = await Promise.all(proofs.map((one) => buy(app, versionTwo(one, NAME), BTC)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    });
    expect([moved, writings(app)]).toEqual([ONE, 1]);
  });

  test("is that payer's alone: another's is another purchase, and nobody gets it by the name", async ({
    app,
  }) => {
    const [alice, bob] = await Promise.all([payer(chain), payer(chain)]);
    expect((await buy(app, versionTwo(await authorize(alice), NAME), BTC)).status).toBe(200);
    const moved = await received(async () => {
      expect((await buy(app, versionTwo(await authorize(bob), NAME), BTC)).status).toBe(200);
    });
    expect(moved).toBe(ONE);
    const forged = await authorize(alice, { by: stranger() });
    const stolen = await buy(app, versionTwo(forged, NAME), BTC);
    expect([stolen.status, stolen.body["reason"]]).toEqual([402, "invalid_exact_evm_payload_signature"]);
    expect(await app.rows("paymentClaims")).toHaveLength(2);
  });

  test("is 409 for another order, and a name that is none 402: nothing moves", async ({ app }) => {
    const from = await payer(chain);
    expect((await buy(app, versionTwo(await authorize(from), NAME), BTC)).status).toBe(200);
    const moved = await received(async () => {
      const other = await buy(app, versionTwo(await authorize(from), NAME), { token: "ETH" });
      expect([other.status, other.body["error"]]).toEqual([
        409,
        "This payment identifier was used for another order: choose a new one",
      ]);
      for (const name of ["short", "x".repeat(129), "not a name at all"]) {
        const { status, body } = await buy(app, versionTwo(await authorize(from), name), BTC);
        expect([name, status, body["reason"]]).toEqual([name, 402, "invalid_payload"]);
      }
    });
    expect([moved, (await app.rows("paymentClaims")).length]).toEqual([0n, 1]);
  });

  test("that came to nothing leaves its name free", async ({ app }) => {
    const from = await payer(chain, ONE);
    const spent = await authorize(from);
    await transfer(chain, from, { to: stranger().address });
    expect((await buy(app, versionTwo(spent, NAME), BTC)).body["reason"]).toBe("insufficient_funds");
    const rich = await payer(chain, ONE);
    await transfer(chain, rich, { to: from.address });
    expect((await buy(app, versionTwo(await authorize(from), NAME), BTC)).status).toBe(200);
  });
});
