import { expect } from "vitest";
import { api, internal } from "../../convex/_generated/api";
import { handedToTheNode } from "../invariants/harness";
import { chain, usdcOf, useChain } from "../support/chain/chain";
import { createWalletApp } from "../support/chain/walletApp";
import { owner, send, test } from "../support/owners";
import { replace } from "../support/world";

/** Rules of access that nothing else would notice the loss of: sums by address, questions a day, a freeze at the last moment. */

useChain();

test("short ids of one network address share what ids without an owner may move in a day", async () => {
  const app = createWalletApp(chain, { env: { UNOWNED_DAILY_USD: undefined } });
  for (const id of ["ann", "ben"]) await app.fundedWallet(id, { ETH: 10n ** 18n, USDC: 1_000_000_000n });
  const order = (userId: string, ip: string) =>
    app.post("/mcp/defi/send", send(userId, { amount: "300000000" }), { ip });
  expect((await order("ann", "198.51.100.31")).body.status).toBe("confirmed");
  const second = await order("ben", "198.51.100.31");
  expect([second.status, second.body.error]).toEqual([
    429,
    expect.stringContaining("for the short userIds of one network address"),
  ]);
  expect((await order("ben", "198.51.100.32")).body.status).toBe("confirmed");
});

test("by the id alone an owner is asked ten times a day", async ({ app }) => {
  const { userId } = await owner(app);
  const ask = async () => {
    const { status } = await app.post("/mcp/defi/send", send(userId));
    for (const row of await app.rows("orders"))
      if (row.state === "asked")
        await app.t.run((ctx) => ctx.db.patch("orders", row._id, { nextCheckAt: 0 }));
    await app.t.mutation(internal.wallets.orders.steps.takeUpDue, {});
    await app.settle();
    return status;
  };
  const seen: number[] = [];
  for (let question = 0; question < 11; question++) seen.push(await ask());
  expect(seen).toEqual([...new Array<number>(10).fill(202), 429]);
});

test("a freeze that comes between a key's opening and its bytes lets none of them leave", async ({ app }) => {
  const { browser, userId, address } = await owner(app);
  const handed = handedToTheNode();
  const before = await usdcOf(address);
  const decrypt = crypto.subtle.decrypt.bind(crypto.subtle);
  let opened = 0;
  replace(crypto.subtle, "decrypt", async (...args: Parameters<typeof decrypt>) => {
    const key = await decrypt(...args);
    if (++opened === 1) await browser.mutation(api.accounts.profile.freeze, {});
    return key;
  });
  const { status } = await app.post("/mcp/defi/send", send(userId), { as: "person-42" });
  expect([opened > 0, status, handed(), (await usdcOf(address)) - before]).toEqual([true, 503, [], 0n]);
});
