import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startStack, type Stack } from "../../scripts/stack/stack";
import { until } from "../support/waits";
import { buildProxy, connect, textOf, type Built, type Connection } from "./support";

/** The tools that move money, and the messenger's, through the built proxy against the whole local stack; the others in the contract's walk. */

let stack: Stack;
let built: Built;
let proxy: Connection;

beforeAll(async () => {
  built = await buildProxy();
  stack = await startStack({ envFile: "/dev/null" });
  proxy = await connect(built.file, stack.siteUrl);
});

afterAll(async () => {
  await proxy.client.close();
  await stack.stop();
  await built.remove();
});

const RECIPIENT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";

async function good(name: string, input?: Record<string, unknown>) {
  const result = await proxy.call(name, input);
  if (result.isError === true) throw new Error(`${name} failed: ${textOf(result)}`);
  return { text: textOf(result), answer: result.structuredContent ?? {} };
}

/** What a tool says when it fails. */
async function refusal(name: string, input?: Record<string, unknown>) {
  const result = await proxy.call(name, input);
  expect(result.isError).toBe(true);
  expect(result.structuredContent).toBeUndefined();
  return textOf(result);
}

describe("wallets", () => {
  const userId = crypto.randomUUID();

  test("the basic wallet is created once and has a balance", async () => {
    expect(await refusal("get_wallet_balance", { userId })).toMatch(/^No wallet was found/);
    const first = await good("create_wallet", { userId });
    const again = await good("create_wallet", { userId });
    expect(first.answer).toMatchObject({ existing: false });
    expect(again.answer).toEqual({ ...first.answer, existing: true });
    expect(again.text).toContain(`is there already: ${String(first.answer.address)}`);
    await stack.chain?.fund(addressOf(first.answer), { ETH: 25n * 10n ** 16n });
    const { text } = await good("get_wallet_balance", { userId });
    expect(text).toBe(`The basic wallet ${String(first.answer.address)} on Base holds 0.25 ETH and 0 USDC.`);
    expect(await refusal("create_wallet")).toMatch(/^userId/);
  });

  test("the custody wallet is connected, funded, swapped and sent from", async () => {
    const { answer, text } = await good("connect_wallet", { userId });
    expect(text).toMatch(/^The custody wallet was created: 0x/);
    expect(text).toMatch(/the person who taps Own there .* https:\/\/t\.me\/\w+\?start=own_\w+$/m);
    await stack.chain?.fund(addressOf(answer), { ETH: 10n ** 18n, USDC: 500_000_000n });
    const portfolio = await good("get_portfolio", { userId });
    expect(portfolio.text).toMatch(/\| USDC \| 500 \| \$\d.* \| \$(?:500|499)\.\d\d \|/);
    expect(portfolio.answer).toMatchObject({ address: answer.address });

    const swap = await good("swap_tokens", {
      userId,
      fromToken: "USDC",
      toToken: "WETH",
      amount: "100000000",
      slippageBps: 200,
    });
    expect(swap.answer).toMatchObject({ success: true, sellAmount: "100000000" });
    expect(swap.text).toMatch(
      /^Swap of 100 USDC for (?:about )?0\.\d+ WETH \(at least 0\.\d+ WETH\): (?:confirmed|submitted)/,
    );

    const order = { userId, token: "USDC", toAddress: RECIPIENT, amount: "25000000" };
    const sent = await good("send_token", { ...order, idempotencyKey: "rent" });
    expect(sent.text).toMatch(new RegExp(`^Transfer of 25 USDC to ${RECIPIENT}: (?:confirmed|submitted)`));
    const repeated = await good("send_token", { ...order, idempotencyKey: "rent" });
    expect(repeated.answer.txHash).toBe(sent.answer.txHash);
    const another = await good("send_token", order);
    expect(another.answer.txHash).not.toBe(sent.answer.txHash);

    expect(await refusal("send_token", { ...order, amount: "1.5" })).toMatch(/^amount .*decimal point/);
    expect(await refusal("send_token", { ...order, toAddress: "0x12" })).toMatch(
      /^toAddress must be an address/,
    );
    expect(await refusal("send_token", { ...order, amount: "999000000" })).toMatch(
      /^This transfer would pass the limit of 500 USD in 24 hours/,
    );
    expect(await refusal("swap_tokens", { userId, fromToken: "USDC", toToken: "USDC", amount: "1" })).toMatch(
      /^toToken must differ/,
    );
    expect(await refusal("connect_wallet", { userId: " " })).toMatch(/^userId/);
    expect(await refusal("get_portfolio")).toMatch(/^userId/);
  });
});

function addressOf({ address }: Record<string, unknown>): `0x${string}` {
  if (typeof address !== "string" || !address.startsWith("0x")) throw new Error("There is no address");
  return `0x${address.slice(2)}`;
}

describe("a wallet with an owner", () => {
  /** In the owner's chat: says something, or taps a button once it is there. */
  const inChat = async (what: "say" | "tap", words: object) => {
    const url = `${stack.providersUrl}/_control/messenger/${what}`;
    const body = JSON.stringify({ chatId: 1001, ...words });
    await until(async () => (await fetch(url, { method: "POST", body })).ok);
  };
  const told = () =>
    stack.standins.sent("messenger").flatMap(({ chatId, text }) => (chatId === "1001" ? [text] : []));

  test("is owned by a tap on the link, approves what a person asked for, and refuses an assistant that was talked into more", async () => {
    const userId = crypto.randomUUID();
    const connected = await good("connect_wallet", { userId });
    await stack.chain?.fund(addressOf(connected.answer), { ETH: 10n ** 18n, USDC: 500_000_000n });
    const [, code] = /start=(own_\w+)/.exec(connected.text) ?? [];
    await inChat("say", { text: `/start ${code}` });
    await inChat("tap", { button: "🔐 Own" });
    await until(() => told().some((text) => text.includes("It is yours")));
    const swap = good("swap_tokens", { userId, fromToken: "USDC", toToken: "WETH", amount: "100000000" });
    await inChat("tap", { button: "✅ Approve" });
    expect((await swap).text).toMatch(/^Swap of 100 USDC for .* WETH \(at least .*: (?:confirmed|submitted)/);
    // What a page or a message has told the assistant: no word of it reaches the owner.
    const order = { userId, token: "USDC", toAddress: `0x${"66".repeat(20)}` };
    const refused = refusal("send_token", { ...order, amount: "39000000" });
    await inChat("tap", { button: "✖ Refuse" });
    expect(await refused).toContain("The owner has refused this");
    // A refusal stops questions for an hour.
    const calls: [string, object][] = [
      ["send_token", { ...order, amount: "2" }],
      ["swap_tokens", { userId, fromToken: "USDC", toToken: "DAI", amount: "399000000", slippageBps: 1000 }],
      ["set_telegram", { userId, messengerChatId: "666" }],
    ];
    for (const [name, input] of calls)
      expect([name, await refusal(name, { ...input })]).toEqual([name, expect.stringContaining("owner")]);
    expect((await good("connect_wallet", { userId })).text).not.toContain("start=own_");
    expect((await good("get_wallet_balance", { userId })).text).toContain(" and 400 USDC");
    const cards = told().filter((text) => text.includes("Your approval is asked for"));
    expect(cards).toHaveLength(2);
    expect(cards[1]).toMatch(/Send 39 USDC[\s\S]*To 0x(?:66){20}[\s\S]*New: it is not on your list/);
  });
});

describe("the messenger", () => {
  test("set_telegram takes both names of its fields, and names a bad one", async () => {
    const userId = crypto.randomUUID();
    const expected = { text: "The messenger settings are saved.", answer: { success: true } };
    const telegramBotToken = `123456789:${"a".repeat(35)}`;
    expect(await good("set_telegram", { userId, telegramBotToken, telegramChatId: "42" })).toEqual(expected);
    expect(await good("set_telegram", { userId, messengerChatId: -100123 })).toEqual(expected);
    expect(await good("set_telegram", { userId, messengerBotToken: "" })).toEqual(expected);
    expect(await refusal("set_telegram", { userId, messengerChatId: "my chat" })).toMatch(
      /^messengerChatId must/,
    );
  });
});
