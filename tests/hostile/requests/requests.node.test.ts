import { expect } from "vitest";
import { chain, useChain, test } from "../../support/chain/chain";
import { flood } from "./flood";
import { createFuzzedApp } from "./fuzzTarget";

/**
 * Three hundred requests made from the API document, most of them wrong in some way; `npm run test:long -- hostile` makes
 * 9,500. Every answer is one the document tells of (the test's own client holds it against it); beyond that, what must
 * hold of any request at all.
 */

useChain();

flood({ seed: 20_260_105, batches: 2, each: 60, chain: () => chain });

test("a bot token leads nowhere but to the messenger's own method", async () => {
  const app = await createFuzzedApp(chain);
  const token = "../../swap-api/x?a=b#c@evil.test/../..";
  const userId = "somebody-with-a-strange-bot";
  expect(
    (await app.post("/user/messenger", { userId, messengerBotToken: token, messengerChatId: "77" })).status,
  ).toBe(200);
  expect((await app.post("/mcp/research/start", { userId })).status).toBe(200);
  for (let i = 0; i < 200 && (await app.rows("messages")).some(({ state }) => state === "queued"); i++)
    await app.settle(2);
  const toMessenger = [...app.asked].filter(
    (url) => url.includes("/messenger/") || url.includes("sendMessage"),
  );
  expect(toMessenger).toEqual([
    `http://providers.test/messenger/bot${encodeURIComponent(token)}/sendMessage`,
  ]);
});
