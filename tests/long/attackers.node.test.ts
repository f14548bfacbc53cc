import { readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { api } from "../../convex/_generated/api";
import { id, ownerOf, send, startRunning, swap, walletOf, type Running } from "../owners/runningStack";
import { buildProxy, connect, textOf } from "../proxy/support";
import { temporaryDirectory } from "../stack/processes";
import { until } from "../support/waits";
import { freshAddress } from "../support/chain/walletApp";

/** The attackers of docs/security.md against `npm start`: each gets the sums that stand there, counted on the chain. */

type Answer = Awaited<ReturnType<Running["post"]>>;

const statuses = (answers: Answer[]) => answers.map(({ status }) => status).toSorted();
const many = <T>(count: number, ask: (nth: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, nth) => ask(nth)));
/** A sum in USDC, which is worth a little more or less, is the limit, and no order beyond it. */
function expectAllOf(limitUsd: number, moved: number): void {
  expect([moved, moved <= limitUsd, moved > 0.85 * limitUsd]).toEqual([moved, true, true]);
}
/** One after the other, until nothing more is let through. */
async function milk(most: number, ask: (nth: number) => Promise<Answer>): Promise<Answer> {
  for (let nth = 0; nth < most; nth++) {
    const answer = await ask(nth);
    if (answer.status !== 200) return answer;
  }
  throw new Error(`${most} orders went through`);
}

describe("who knows ids, from as many network addresses as they like", () => {
  test("moves 1,000 USD of a long one, 500 of those that could be guessed, and nothing of an owner's", async () => {
    const stack = await startRunning(["--ephemeral"], { TRUSTED_PROXY_HOPS: "1" });
    const [thief, second, third] = [freshAddress(), freshAddress(), freshAddress()];
    const long = id();
    for (const userId of [long, "alice", "bob", "carol"]) await walletOf(stack, userId);
    const victim = await ownerOf(stack, 101);

    await many(30, () => stack.post("/mcp/defi/send", send(long, 100, thief)));
    expectAllOf(1_000, await stack.usdcOf(thief));
    await many(20, () => stack.post("/mcp/defi/send", send("alice", 50, second)));
    expectAllOf(500, await stack.usdcOf(second));
    // One address, which says that it is another one each time.
    await many(20, (nth) =>
      stack.post("/mcp/defi/send", send(nth % 2 === 0 ? "bob" : "carol", 50, third), {
        forwarded: `198.51.100.${nth}, 203.0.113.5`,
      }),
    );
    // The address has its own pace besides.
    expect(await stack.usdcOf(third)).toBeLessThanOrEqual(500);
    const taken = await stack.usdcOf(thief);

    const { userId } = victim;
    const asked = await many(12, (nth) =>
      nth % 3 === 2
        ? stack.post("/mcp/defi/swap", swap(userId, 100 + nth))
        : stack.post("/mcp/defi/send", send(userId, 25 + nth, thief)),
    );
    expect(statuses(asked)).toEqual([202, 202, 202, ...Array.from({ length: 9 }, () => 429)]);
    const question = String(asked.find(({ status }) => status === 202)?.body.approvalId);
    await stack.say(666, `/approve ${question}`);
    await stack.say(666, `/start ${question}`);
    for (const count of [1, 2]) {
      await stack.tap(victim.chat, "✖ Refuse");
      const refused = async () =>
        (await stack.cards(victim.chat)).filter(({ text }) => text.includes("✖ Refused")).length;
      await until(async () => (await refused()) === count);
    }
    const told = await stack.post("/user/messenger", { userId, messengerChatId: "666" });
    expect(told.status).toBe(429);
    expect(statuses(await many(5, () => stack.post("/mcp/research/start", { userId })))).toEqual([
      ...[200, 200, 200],
      ...[429, 429],
    ]);

    const found = await stack.get(`/messenger/wallet?messengerId=${victim.chat}`);
    expect(found.body).toMatchObject({ linked: true, userId });
    const links = await many(8, (nth) =>
      stack.post("/messenger/connect", { linkToken: `ABCD${nth}234`, messengerId: "666" }),
    );
    expect(new Set(statuses(links))).toEqual(new Set([404]));
    for (const as of ["not-a-token", `mk_${"x".repeat(43)}`, await stack.token("mallory")])
      expect([401, 403]).toContain(
        (await stack.post("/mcp/defi/send", send(userId, 1, thief), { as })).status,
      );
    expect([await stack.usdcOf(victim.address), await stack.usdcOf(thief)]).toEqual([9_000, taken]);
  });
});

describe("who has stolen", () => {
  test("a key with trade swaps 2,000 USD a day, loses 100 of it, sends nothing, and ends when it is revoked", async () => {
    const stack = await startRunning();
    const { userId, browser, address } = await ownerOf(stack, 101);
    const scopes = ["trade" as const];
    const { key: as, keyId } = await browser.mutation(api.account.keys.create, { name: "script", scopes });
    const bad = await many(20, () => stack.post("/mcp/defi/swap", swap(userId, 200), { as }));
    // 11 % of 200 USD each.
    expect(bad.filter(({ status }) => status === 200)).toHaveLength(4);
    const good = await milk(40, () => stack.post("/mcp/defi/swap", swap(userId, 60, 1), { as }));
    expect(good.status).toBe(400);
    const spent = 9_000 - (await stack.usdcOf(address));
    expect([spent <= 2_000, spent > 800]).toEqual([true, true]);
    for (const [target, body] of [
      ["/mcp/defi/send", send(userId, 1)],
      ["/user/messenger", { userId, messengerChatId: "666" }],
      ["/mcp/research/start", { userId }],
      ["/webhooks", { userId, url: "https://example.com/hook" }],
    ] as const)
      expect([target, (await stack.post(target, body, { as })).status]).toEqual([target, 403]);
    const own = stack.browser(as);
    await expect(own.mutation(api.account.keys.create, { name: "more", scopes })).rejects.toThrow();
    await browser.mutation(api.account.keys.revoke, { keyId });
    expect((await stack.post("/mcp/defi/swap", swap(userId, 1), { as })).status).toBe(401);
  });

  test("a key with withdraw sends strangers 50 USD a day in all, unless the list or the owner says more", async () => {
    const stack = await startRunning();
    const { userId, browser, address } = await ownerOf(stack, 101);
    const wish = { name: "script", scopes: ["withdraw" as const] };
    const { key: as } = await browser.mutation(api.account.keys.create, wish);
    const { key: capped } = await browser.mutation(api.account.keys.create, { ...wish, dailyUsd: "60" });
    const thief = freshAddress();
    await many(5, () => stack.post("/mcp/defi/send", send(userId, 19, thief), { as: capped }));
    await many(5, () => stack.post("/mcp/defi/send", send(userId, 5, freshAddress()), { as }));
    // Beyond that the owner is asked, whatever the sum, the key and the stranger.
    const more = await stack.post("/mcp/defi/send", send(userId, 5, thief), { as });
    expect([202, 429]).toContain(more.status);
    expectAllOf(50, 9_000 - (await stack.usdcOf(address)));
    // No key's send puts anybody on the list.
    expect(await browser.query(api.account.recipients.mine, {})).toEqual([]);
  });

  test("the owner's login is seen, moves the same, and is stopped from the chat", async () => {
    const stack = await startRunning();
    const { userId, token: as, browser, chat, address } = await ownerOf(stack, 101);
    const thief = freshAddress();
    await browser.mutation(api.account.recipients.add, { address: thief });
    await browser.mutation(api.account.levels.set, { level: "guarded", mostUsd: "9000", dailyUsd: "9000" });
    const large = await stack.post("/mcp/defi/send", send(userId, 900, thief), { as });
    expect(large.status).toBe(202);
    await many(30, () => stack.post("/mcp/defi/send", send(userId, 49, thief), { as }));
    // Another chat of the thief's: it approves nothing for two hours.
    await browser.mutation(api.messenger.linking.unlink, {});
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    await stack.say(666, `/connect ${code}`);
    await stack.told(666, "is linked");
    const alone = await stack.post("/mcp/defi/send", send(userId, 900, thief), { as });
    expect([alone.status, alone.body.error]).toEqual([403, expect.stringContaining("counts from")]);
    const byId = await stack.post("/mcp/defi/send", send(userId, 1, thief));
    expect([byId.status, byId.body.error]).toEqual([403, expect.stringContaining("approves from")]);
    const moved = 9_000 - (await stack.usdcOf(address));
    expect(moved).toBeLessThanOrEqual(2_000);
    const cards = (await stack.cards(chat)).filter(({ text }) => text.includes("Ordered with your token"));
    expect(cards).toHaveLength(moved / 49);
    for (const words of ["new recipient", "is unlinked from your account", "Another messenger account"])
      await stack.told(chat, words);
    await stack.tap(chat, "🧊 Freeze");
    await stack.told(chat, "Your account is frozen");
    await stack.told(666, "not linked any more");
    const after = await stack.post("/mcp/defi/send", send(userId, 1, thief), { as });
    expect([after.status, after.body.error]).toEqual([503, "The owner has frozen this account"]);
    expect(await browser.query(api.account.levels.mine, {})).toMatchObject({ dailyUsd: "2000", next: null });
    expect(await browser.query(api.account.recipients.mine, {})).toEqual([]);
  });

  test("the chat orders 100 USD to the list, and with the id as much as the owner's limits allow", async () => {
    const stack = await startRunning();
    const { userId, browser, chat, address } = await ownerOf(stack, 101);
    const thief = freshAddress();
    await stack.say(chat, `/send 25 USDC to ${thief}`);
    await stack.told(chat, "needs a recipient on your list");
    for (const usd of [60, 30]) {
      await stack.say(chat, `/swap ${usd} USDC to DAI`);
      await stack.tap(chat, "✅ Approve");
      await stack.told(chat, `✅ Done</b>\n\nSwap ${usd} USDC`);
    }
    await stack.say(chat, "/swap 30 USDC to DAI");
    await stack.told(chat, "limit of 100 USD");
    expect(9_000 - (await stack.usdcOf(address))).toBeLessThanOrEqual(100);
    for (const usd of [950, 950]) {
      const asked = stack.post("/mcp/defi/send", send(userId, usd, thief));
      await stack.told(chat, `Send ${usd} USDC`);
      await stack.tap(chat, "✅ Approve");
      expect((await asked).status).toBe(200);
    }
    const more = await stack.post("/mcp/defi/send", send(userId, 950, thief));
    expect([more.status, more.body.error]).toEqual([400, expect.stringContaining("limit of 2000 USD")]);
    await stack.say(chat, "/freeze");
    await stack.told(chat, "Your account is frozen");
    await stack.say(chat, "/unfreeze");
    await stack.told(chat, "Sign in");
    expect(await browser.query(api.account.freezes.mine, {})).not.toBeNull();
    expect(9_000 - (await stack.usdcOf(address))).toBeLessThanOrEqual(2_000);
  });
});

test("an assistant that was talked into it, through the built proxy, moves what its owner taps", async () => {
  const stack = await startRunning();
  const built = await buildProxy();
  const proxy = await connect(built.file, stack.site);
  const userId = crypto.randomUUID();
  const connected = textOf(await proxy.call("connect_wallet", { userId }));
  const [, address = "", code = ""] = /(0x\w{40})[^]*start=(own_\w+)/.exec(connected) ?? [];
  await stack.fund(address, 3_000);
  await stack.say(101, `/start ${code}`);
  await stack.tap(101, "🔐 Own");
  await stack.told(101, "It is yours");
  const thief = freshAddress();
  const order = { userId, token: "USDC", toAddress: thief, amount: "900000000" };
  const calls: [string, object][] = [
    ["send_token", order],
    ["swap_tokens", { userId, fromToken: "USDC", toToken: "DAI", amount: "900000000", slippageBps: 1_000 }],
    ["set_telegram", { userId, messengerChatId: "666", messengerBotToken: `123456789:${"a".repeat(35)}` }],
    ["send_token", { ...order, amount: "899000000" }],
  ];
  const told = await Promise.all(calls.map(([name, input]) => proxy.call(name, { ...input }).then(textOf)));
  // One address keeps two requests waiting.
  expect(told.filter((text) => text.includes("NOTHING was"))).toHaveLength(2);
  expect(told.filter((text) => text.includes("another attempt needs a new one"))).toHaveLength(2);
  // A proxy that is started again asks for the same thing, and not a second time.
  await proxy.client.close();
  const again = await connect(built.file, stack.site);
  await stack.tap(101, "🧊 Freeze");
  await stack.told(101, "Your account is frozen");
  // Its key is the question's, as long as the same ten minutes last.
  expect(textOf(await again.call("send_token", order))).toMatch(
    /The owner(?:'s rules have changed| has frozen)/,
  );
  const frozen = textOf(await again.call("send_token", order));
  expect(frozen).toMatch(/The owner has frozen this account\. Its idempotencyKey was/);
  await again.client.close();
  await built.remove();
  expect(await stack.usdcOf(thief)).toBe(0);
});

/** Every text in a copy, whole and in pieces. */
function textsIn(copy: unknown): Set<string> {
  const texts = new Set<string>();
  const collect = (value: unknown): void => {
    if (typeof value === "string")
      for (const text of [value, ...value.split(/[^\w-]+/)]) if (text !== "") texts.add(text);
    if (typeof value === "object" && value !== null)
      for (const [key, inner] of Object.entries(value)) [key, inner].forEach(collect);
  };
  collect(copy);
  return texts;
}

test("who has copied the rows moves 500 USD of an id that could be guessed, and nothing else", async ({
  annotate,
}) => {
  const LOCAL_STATE_DIR = await temporaryDirectory();
  const stack = await startRunning([], { LOCAL_STATE_DIR });
  const [nobodys, tapped] = [id(), id()];
  for (const userId of [nobodys, tapped, "alice"]) {
    await walletOf(stack, userId);
    await stack.post("/mcp/defi/send", send(userId, 10));
    await stack.post("/mcp/wallet/create", { userId });
    await stack.post("/user/messenger", { userId, messengerChatId: "5" });
    await stack.post("/mcp/research/start", { userId, token: "ETH" });
    await stack.post("/mcp/chat", { userId, question: "How is ETH?" });
    await stack.post("/alerts", { userId, text: "tell me when BTC is above 1 USD" });
    await stack.post("/webhooks", { userId, url: "https://example.com/hook" });
  }
  const victim = await ownerOf(stack, 101);
  const scopes = ["trade" as const, "withdraw" as const, "read" as const];
  const { key } = await victim.browser.mutation(api.account.keys.create, { name: "script", scopes });
  await stack.post("/mcp/defi/send", send(victim.userId, 10), { as: key });
  const { body } = await stack.post("/mcp/defi/connect", { userId: tapped });
  const code = /own_\w+/.exec(String(body.ownerUrl))?.[0] ?? "";
  await stack.say(102, `/start ${code}`);
  const { body: open } = await stack.post("/mcp/defi/connect", { userId: nobodys });
  const unused = /own_\w+/.exec(String(open.ownerUrl))?.[0] ?? "";
  await stack.tap(102, "🔐 Own");
  await stack.told(102, "It is yours");
  const { code: link } = await victim.browser.mutation(api.messenger.linking.createCode, {});
  const owned = await stack.post("/mcp/defi/send", send(victim.userId, 60));
  expect(owned.status).toBe(202);
  stack.main.kill("SIGTERM");
  await stack.main.ended;

  const text = await readFile(path.join(LOCAL_STATE_DIR, "data.json"), "utf8");
  for (const secret of [nobodys, key, unused, link]) expect(text.includes(secret)).toBe(false);
  const texts = [...textsIn(z.json().parse(JSON.parse(text)))].filter((one) =>
    /^[\x20-\x7e]{1,128}$/.test(one),
  );
  const running = await startRunning([], { LOCAL_STATE_DIR });
  const thief = freshAddress();
  const tried: string[] = [];
  const crowd = [...texts];
  const work = async () => {
    for (let one = crowd.pop(); one !== undefined; one = crowd.pop()) {
      const order = { ...send(one, 1, thief), dryRun: true };
      const { status, body: told } = await running.post("/mcp/defi/send", order);
      if (status === 404 || status === 400) continue;
      const { rehearsal } = z.looseObject({ rehearsal: z.looseObject({ refusal: z.unknown() }) }).parse(told);
      if (rehearsal.refusal === null) tried.push(one);
    }
  };
  await many(8, work);
  expect(tried).toEqual(["alice"]);
  await many(20, () => running.post("/mcp/defi/send", send("alice", 50, thief)));
  // As a bearer, as a link, as a code, nothing in it opens anything either.
  const bearers = texts.filter((one) => one.length >= 20);
  for (const as of bearers.filter((one) => one.startsWith("mk_") || one.split(".").length === 3))
    expect([401, 403]).toContain(
      (await running.post("/mcp/defi/send", send(victim.userId, 1, thief), { as })).status,
    );
  expectAllOf(490, await running.usdcOf(thief));
  await annotate(`${texts.length} texts of ${text.length} bytes were tried`, "figures");
});

describe("two hours", () => {
  test("make a recipient known, a higher limit hold, and another chat the one that approves", async () => {
    const stack = await startRunning(["--speed", "480"]);
    const { userId, browser, token: as, chat } = await ownerOf(stack, 101);
    const landlord = freshAddress();
    await browser.mutation(api.account.recipients.add, { address: landlord });
    await browser.mutation(api.account.levels.set, { level: "guarded", mostUsd: "3000", dailyUsd: "6000" });
    const early = await stack.post("/mcp/defi/send", send(userId, 1_500, landlord), { as });
    expect([early.status, early.body.error]).toEqual([400, expect.stringContaining("at most 1000 USD")]);
    const order = () => stack.post("/mcp/defi/send", send(userId, 1_500, landlord), { as });
    await until(async () => (await order()).status === 200);
    expect(await stack.usdcOf(landlord)).toBe(1_500);
    await browser.mutation(api.messenger.linking.unlink, {});
    const { code } = await browser.mutation(api.messenger.linking.createCode, {});
    await stack.say(202, `/connect ${code}`);
    await stack.told(202, "is linked");
    const refused = await stack.post("/mcp/defi/send", send(userId, 60));
    expect([refused.status, refused.body.error]).toEqual([403, expect.stringContaining("approves from")]);
    // While it was too early it is refused; then it is asked, and ten minutes are over soon.
    const asked = () => stack.post("/mcp/defi/send", send(userId, 60));
    await until(async () =>
      String((await asked()).body.error).includes("has not answered within 10 minutes"),
    );
    await stack.told(202, "Your approval is asked for");
    expect((await stack.cards(chat)).at(-1)?.text).not.toContain("Your approval is asked for");
  });
});
