import { expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { browserOf } from "../support/browser";
import { chain, test, useChain } from "../support/chain/chain";
import { freshAddress } from "../support/chain/walletApp";
import { intercept } from "../support/outside";

/** Contract wallets that are deployed link their addresses by ERC-1271, as they sign payments. */

useChain();

/** Code that says of every signature that it is good. */
const VOUCHES = "0x631626ba7e60e01b5f5260205ff3";
const OTHERS = {
  "says no": "0x63ffffffff60e01b5f5260205ff3",
  "never ends": "0x5b5f56",
  reverts: "0x5f5ffd",
  "answers four bytes": "0x631626ba7e60e01b5f5260045ff3",
  "is none": "0x",
};
const signature = `0x${"ab".repeat(80)}`;

test("a contract wallet links its address where it vouches for the signature, and no other address is linked", async ({
  app,
}) => {
  const alice = browserOf(app, "alice");
  await alice.mutation(api.accounts.profile.signIn, {});
  const link = async (code: string) => {
    const address = freshAddress();
    await chain.rpc("anvil_setCode", [address, code]);
    const { issuedAt } = await alice.action(api.accounts.actions.challenge, { address });
    return alice.action(api.accounts.actions.linkAddress, { address, issuedAt, signature });
  };
  for (const [name, code] of Object.entries(OTHERS))
    await expect(link(code), name).rejects.toMatchObject({ data: { code: "invalid_request" } });
  // A node that does not answer has not said that the signature is wrong.
  const end = intercept(() => Promise.resolve(new Response("", { status: 503 })));
  const asked = alice.action(api.accounts.actions.linkAddress, {
    ...{ address: freshAddress(), issuedAt: Date.now(), signature },
  });
  await expect(asked).rejects.toMatchObject({ data: { code: "upstream" } });
  end();
  expect(await app.rows("addresses")).toEqual([]);
  const { address } = await link(VOUCHES);
  expect(await app.rows("addresses")).toMatchObject([{ address }]);
});
