import { expect } from "vitest";
import { deferred } from "../../scripts/host/locks";
import { chain, useChain, test } from "../support/chain/chain";
import { freshAddress } from "../support/chain/walletApp";
import { intercept } from "../support/outside";

/** The smallest class runs 64 actions at once, HTTP handlers among them; whoever waits 10 s for a place is refused. */

useChain();

const PLACES = 64;

test("64 slow requests at once take a place each, and leave /health and a send alone", async ({ app }) => {
  await app.fundedWallet("alice-with-a-long-and-random-id", { ETH: 10n ** 18n });
  // Otherwise each of them would wait for the market, for which there is no place left.
  await app.get("/mcp/market");
  const open = deferred<void>();
  const all = deferred<void>();
  let asking = 0;
  intercept(async ({ url, body }, pass) => {
    if (url.endsWith("/chat/completions") && body.includes("How slow is this?")) {
      asking += 1;
      if (asking === PLACES) all.resolve();
      await open.promise;
    }
    return pass();
  });
  // Signed in all of them: strangers would hold 30 places at most.
  const chats = Array.from({ length: PLACES }, (_, i) =>
    app.post("/mcp/chat", { question: "How slow is this?" }, { ip: `10.0.0.${i}`, as: `user-${i}` }),
  );
  // With a second place for an action of its own, none of them would get as far.
  await all.promise;
  const others = [
    app.get("/health"),
    app.post("/mcp/defi/send", {
      userId: "alice-with-a-long-and-random-id",
      toAddress: freshAddress(),
      token: "ETH",
      amount: "1",
    }),
  ];
  open.resolve();
  const answers = await Promise.all([...others, ...chats]);
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  expect(answers[1]?.body).toMatchObject({ success: true, status: "confirmed" });
});

const sent = (userId: string) => ({ userId, toAddress: freshAddress(), token: "ETH", amount: "1" });

test("100 sends at once from as many wallets fill every place and are all carried out", async ({ app }) => {
  const users = Array.from({ length: 100 }, (_, i) => `one-of-many-users-who-send-${i}`);
  const answers = await Promise.all(
    users.map(async (userId, i) => {
      const caller = { as: userId, ip: `10.0.1.${i}` };
      const { body } = await app.post("/mcp/defi/connect", { userId }, caller);
      await chain.fund(`0x${String(body.address).slice(2)}`, { ETH: 10n ** 18n });
      return caller;
    }),
  ).then((callers) =>
    Promise.all(users.map((userId, i) => app.post("/mcp/defi/send", sent(userId), callers[i] ?? {}))),
  );
  expect(answers.map(({ status, body }) => [status, body.success])).toEqual(users.map(() => [200, true]));
});

test("strangers who queue for one wallet hold 24 places at most; the rest are refused", async ({ app }) => {
  const userId = "a-wallet-that-many-order-from";
  await app.fundedWallet(userId, { ETH: 10n ** 18n });
  await chain.miner.pause();
  const answers = Promise.all(
    Array.from({ length: 30 }, (_, i) =>
      app.post("/mcp/defi/send", sent(userId), { ip: `10.0.2.${i}` }).finally(() => {
        if (i === 29) chain.miner.resume();
      }),
    ),
  );
  const statuses = (await answers).map(({ status }) => status);
  expect(statuses.filter((status) => status === 429)).toHaveLength(6);
  expect(statuses.filter((status) => status === 200)).toHaveLength(24);
  expect(await app.rows("orders")).toHaveLength(24);
});
