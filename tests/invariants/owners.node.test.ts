import { describe, expect } from "vitest";
import { api } from "../../convex/_generated/api";
import { random } from "../../scripts/standins/random";
import { ETHER, chain, nonceOf, useChain, usdcOf, test } from "../support/chain/chain";
import { createWalletApp, freshAddress, type WalletApp } from "../support/chain/walletApp";
import { beforeFirst } from "../support/outside";
import { closeApp, type CallInit } from "../support/world";
import { twoHoursPass } from "../support/owners";
import { browserOf } from "../support/browser";
import { handedToTheNode, RUNS } from "./harness";

/** An owner's word cannot be bypassed: what nobody with the right asked for is never handed to the chain. */

useChain();

const ONE = 1_000_000n;

/** A person who has signed in, with money. */
async function person(app: WalletApp, name: string) {
  const browser = browserOf(app, name);
  const { userId } = await browser.mutation(api.accounts.profile.signIn, {});
  const address = await app.fundedWallet(userId, { ETH: ETHER, USDC: 1_000n * ONE, DAI: 100n * ETHER });
  return { browser, userId, address };
}

type Browser = ReturnType<typeof browserOf>;

const bearer = (key: string): CallInit => ({ headers: { Authorization: `Bearer ${key}` } });

/** An order of the id's wallet, sometimes a swap. */
const order = (app: WalletApp, userId: string, init: CallInit, isSwap: boolean) =>
  isSwap
    ? app.post("/mcp/defi/swap", { userId, fromToken: "USDC", toToken: "DAI", amount: String(ONE) }, init)
    : app.post(
        "/mcp/defi/send",
        { userId, toAddress: freshAddress(), token: "USDC", amount: String(ONE) },
        init,
      );

/** How an owner's list gets shorter. */
const ENDS = {
  removed: (browser: Browser, address: string) =>
    browser.mutation(api.accounts.keys.removeRecipient, { address }),
  erased: (browser: Browser) => browser.mutation(api.accounts.data.erase, {}),
};

const holdingsOf = async (address: `0x${string}`) => [await usdcOf(address), await nonceOf(address)];

describe("a wallet with an owner", () => {
  test("is not moved by its id alone, another's token, or a key that may not", async () => {
    const app = createWalletApp(chain);
    const alice = await person(app, "alice");
    const mallory = await person(app, "mallory");
    const key = async (from: typeof alice, scopes: ("read" | "trade" | "withdraw")[]) =>
      (await from.browser.mutation(api.accounts.keys.create, { name: "one", scopes })).key;
    const [reading, trading, paying] = [
      await key(alice, ["read"]),
      await key(alice, ["trade"]),
      await key(alice, ["withdraw"]),
    ];
    const revoked = await alice.browser.mutation(api.accounts.keys.create, {
      name: "old",
      scopes: ["trade"],
    });
    await alice.browser.mutation(api.accounts.keys.revoke, { keyId: revoked.keyId });
    const others = await key(mallory, ["trade", "withdraw"]);
    await twoHoursPass(app);
    const callers: [string, CallInit, boolean | null][] = [
      ["the id alone", {}, null],
      ["mallory's token", { as: "mallory" }, null],
      ["a reading key", bearer(reading), null],
      ["a trading key's send", bearer(trading), false],
      ["a paying key's swap", bearer(paying), true],
      ["a revoked key", bearer(revoked.key), null],
      ["another's key", bearer(others), null],
      ["a made-up key", bearer(`mk_${"A".repeat(43)}`), null],
    ];
    const before = await holdingsOf(alice.address);
    const chance = random("owners", 1);
    for (let step = 0; step < callers.length * RUNS; step++) {
      const [name, init, onlySwap] = callers[step % callers.length] ?? ["", {}, null];
      const answer = await order(app, alice.userId, init, onlySwap ?? chance.between(0, 1) < 0.5);
      expect([name, [202, 401, 403].includes(answer.status)]).toEqual([name, true]);
      expect([name, await holdingsOf(alice.address)]).toEqual([name, before]);
    }
    const owned = await order(app, alice.userId, { as: "alice" }, false);
    expect(owned.body.status).toBe("confirmed");
    expect((await order(app, alice.userId, bearer(trading), true)).body.status).toBe("confirmed");
  });

  test("that is frozen signs nothing, for whomever", async () => {
    const app = createWalletApp(chain);
    const alice = await person(app, "alice");
    const scopes = ["trade", "withdraw"] as const;
    const { key } = await alice.browser.mutation(api.accounts.keys.create, {
      name: "one",
      scopes: [...scopes],
    });
    await twoHoursPass(app);
    await alice.browser.mutation(api.accounts.profile.freeze, {});
    const before = await holdingsOf(alice.address);
    for (const init of [{}, { as: "alice" }, bearer(key)]) {
      for (const isSwap of [true, false]) {
        const { status } = await order(app, alice.userId, init, isSwap);
        expect([202, 401, 403, 503]).toContain(status);
      }
    }
    expect(await holdingsOf(alice.address)).toEqual(before);
  });

  test("sends nothing to a recipient who is taken off the list, also by an order on its way", async () => {
    for (const ends of [ENDS.removed, ENDS.erased]) {
      const app = createWalletApp(chain);
      const alice = await person(app, "alice");
      const wish = { name: "one", scopes: ["withdraw" as const] };
      const { key } = await alice.browser.mutation(api.accounts.keys.create, wish);
      const { address } = await alice.browser.mutation(api.accounts.keys.addRecipient, {
        address: freshAddress(),
      });
      await twoHoursPass(app);
      const given = handedToTheNode();
      beforeFirst("eth_estimateGas", () => ends(alice.browser, address));
      const send = { userId: alice.userId, toAddress: address, token: "USDC", amount: String(ONE) };
      expect((await app.post("/mcp/defi/send", send, bearer(key))).status).toBe(403);
      expect(given()).toEqual([]);
      closeApp();
    }
  });

  test("is frozen at once, also for an order that is on its way to the signer", async () => {
    for (const method of ["eth_estimateGas", "eth_getTransactionCount"]) {
      const app = createWalletApp(chain);
      const alice = await person(app, "alice");
      const given = handedToTheNode();
      let frozen = false;
      beforeFirst(method, async () => {
        await alice.browser.mutation(api.accounts.profile.freeze, {});
        frozen = true;
      });
      const { status } = await order(app, alice.userId, { as: "alice" }, false);
      expect([method, frozen, status, given()]).toEqual([method, true, 503, []]);
      closeApp();
    }
  });
});
