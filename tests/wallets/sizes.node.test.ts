import { describe, expect } from "vitest";
import { looksLikeOrder, parseOrder } from "../../convex/bot/orders";
import { parseSize } from "../../convex/wallets/tokens";
import { TOKENS } from "../../scripts/chain/addresses";
import { balanceOf } from "../chain/support";
import { chain, ETHER, etherOf, holdingsOf, useChain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { newest, owner, say, tap, test } from "../support/owners";

/** Sizes as people say them: what is signed is what the card said, and what is not an order says how to write it. */

useChain();

const AT = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
const MONEY = { ETH: ETHER, USDC: 1_000_000_000n, DAI: 500n * ETHER, CBBTC: 2_000_000n };

/** `sold size to bought`, or `sold size at` for a send to `AT`, and ways to say it. */
const PHRASINGS: Record<string, string[]> = {
  "USDC $20 to ETH": [
    ...["buy $20 of ETH", "buy $20 ETH", "buy 20 dollars of ETH", "buy 20 USD of eth", "buy $20 in ETH"],
    ...[
      "Buy me $20 of Ethereum please",
      "buy ETH for $20",
      "buy $20 worth of ETH",
      "swap $20 of USDC to ETH",
    ],
  ],
  "USDC $5 to ETH": ["buy $5 ETH", "buy 5 bucks of ETH", "buy 5$ of ETH"],
  "USDC $10 to CBBTC": ["buy $10 worth of BTC", "buy 10 dollars of bitcoin", "buy $10 of cbbtc"],
  "USDC 50 to CBBTC": ["swap 50 USDC to BTC", "convert 50 usdc into bitcoin", "buy 50 USDC of BTC"],
  "USDC 0.01 ETH to ETH": ["buy 0.01 ETH", "buy .01 eth with usdc"],
  "USDC 50% to ETH": [
    ...["swap half my USDC to ETH", "swap 50% of my USDC to ETH", "swap 50 % of my USDC to ETH"],
    ...["swap half of my usdc for eth", "exchange half USDC to ETH", "buy ETH with half my USDC"],
  ],
  "USDC all to CBBTC": [
    "swap all my USDC to BTC",
    "swap everything in USDC to bitcoin",
    "buy BTC with all USDC",
  ],
  "DAI all to USDC": [
    "sell all my DAI",
    "sell all DAI",
    "sell everything in DAI",
    "swap all of my DAI to USDC",
  ],
  "DAI 10% to USDC": ["sell 10% of my DAI", "sell 10 % DAI", "swap 10% DAI to USDC"],
  "ETH all to USDC": [
    "sell all my ETH",
    "sell everything in ETH",
    "sell all of my ETH",
    "sell 100% of my ETH",
  ],
  "ETH 50% to USDC": [
    "sell half my ETH",
    "sell half of my ether",
    "sell 50% of my ETH",
    "sell 50% ETH for USDC",
  ],
  "ETH 12.5% to DAI": ["sell 12.5% of my ETH for DAI", "swap 12.5% of my ETH to DAI"],
  "ETH $20 to USDC": ["sell $20 of ETH", "sell 20 dollars of ETH", "sell $20 ETH"],
  "ETH 0.1 to USDC": ["sell 0.1 ETH", "sell my 0.1 ETH", "swap 0.1eth to usdc"],
  "CBBTC 50% to ETH": ["swap half my BTC to ETH", "sell half my bitcoin for eth"],
  "USDC 5 at": [`send 5 USDC to ${AT}`, `pay ${AT} 5 usdc`],
  "USDC $5 at": [`send $5 of USDC to ${AT}`, `send $5 in USDC to ${AT}`],
  "USDC 50% at": [`send half my USDC to ${AT}`, `send 50% of my USDC to ${AT}`],
  "ETH all at": [`send all my ETH to ${AT}`, `transfer everything in ETH to ${AT}`],
};

const NEARLY = [
  ...["buy 20 of ETH", "swap 1,5 USDC", "swap 1,5 USDC to ETH", "buy ETH", "sell my ETH", "sell 5 doge"],
  ...["buy 25 USDC of ETH every Monday at 09:00", "sell half", "swap all to ETH", "send 5 USDC to alice.eth"],
  ...["buy $20", "swap 50 USDC", "sell ETH now", "buy 20k usdc of eth", "buy €20 of ETH"],
];
const TALK = [
  ...[
    "buy or sell BTC now?",
    "sell pressure on ETH is high",
    "trade ideas for today",
    "send me the ETH report",
  ],
  ...["buy signals for BTC", "should I buy $20 of ETH?", "pay attention to ETH", "what is 50% of my USDC"],
];

function describeOrder(text: string): string | null {
  const order = parseOrder(text);
  if (order === null) return null;
  if (order.kind === "send") return `${order.token} ${order.size} at${order.toAddress === AT ? "" : "?"}`;
  if (order.kind === "gas") return "gas";
  return `${order.fromToken} ${order.size} to ${order.toToken}`;
}

test("60 ways to say an order are read as what they say, near misses and talk as no order", () => {
  const read = Object.entries(PHRASINGS).flatMap(([order, texts]) => texts.map((text) => [text, order]));
  expect(read.length).toBeGreaterThanOrEqual(60);
  expect(read.map(([text = ""]) => [text, describeOrder(text)])).toEqual(read);
  for (const text of NEARLY)
    expect([text, describeOrder(text), looksLikeOrder(text)]).toEqual([text, null, true]);
  for (const text of TALK)
    expect([text, describeOrder(text), looksLikeOrder(text)]).toEqual([text, null, false]);
});

test("a size has one spelling, and what is none says what it should be", () => {
  const share = (bps: number) => ({ kind: "share", bps });
  const worth = (amount: string, unit: string) => ({ kind: "worth", amount, unit });
  for (const [text, size] of [
    ...[
      ["all", share(10_000)],
      ["100 %", share(10_000)],
      ["HALF", share(5_000)],
      ["0.5%", share(50)],
    ],
    ...[
      ["25", worth("25", "USDC")],
      [" .50 ", worth("0.5", "USDC")],
      ["25 usdc", worth("25", "USDC")],
    ],
    ...[
      ["$20", worth("20", "USD")],
      ["20 dollars", worth("20", "USD")],
      ["0.1 btc", worth("0.1", "CBBTC")],
    ],
  ] as const)
    expect([text, parseSize(text, "USDC")]).toEqual([text, size]);
  for (const text of [
    "",
    "0",
    "$0",
    "-5",
    "1,5",
    "1e3",
    "ten",
    "0%",
    "101%",
    "0.0000001",
    "$20 USDC",
    "5 doge",
  ])
    expect([text, parseSize(text, "USDC")]).toEqual([text, expect.stringMatching(/^must /)]);
});

/** What an order over HTTP has told, or would. */
const swap = (app: WalletApp, fields: object, headers: Record<string, string> = {}) =>
  app.post("/mcp/defi/swap", { userId: "alice", fromToken: "USDC", toToken: "DAI", ...fields }, { headers });

describe("over HTTP", () => {
  test("the answer has the exact digits, which are what leaves the wallet", async ({ app }) => {
    const address = await app.fundedWallet("alice", MONEY);
    const to = freshAddress();
    const price = app.standins.market.coin("ETH").price;
    expect((await swap(app, { size: "half" })).body).toMatchObject({
      status: "confirmed",
      sellAmount: "500000000",
    });
    for (const [token, size, expected] of [
      ["USDC", "25 USDC", 25_000_000n],
      ["USDC", "$20", 20_000_000n],
      ["USDC", "all", 455_000_000n],
      ["CBBTC", "half", 1_000_000n],
      ["ETH", "$20", null],
      ["ETH", "all", null],
    ] as const) {
      const before = await holdingsOf(app);
      const order = { userId: "alice", token, toAddress: to, size };
      const { status, body } = await app.post("/mcp/defi/send", order);
      expect([size, status, body.status]).toEqual([size, 200, "confirmed"]);
      const arrived = token === "ETH" ? await etherOf(to) : await balanceOf(chain, TOKENS[token], to);
      const moved = (before[token] ?? 0n) - ((await holdingsOf(app))[token] ?? 0n);
      if (expected !== null)
        expect([size, BigInt(String(body.amount)), moved]).toEqual([size, expected, expected]);
      if (token === "ETH" && size === "$20") expect(Number(arrived) / 1e18).toBeCloseTo(20 / price, 3);
      // Two fees were left, of which this order has spent one.
      if (size === "all" && token === "ETH") expect(await etherOf(address)).toBeGreaterThan(0n);
    }
  });

  test("a repeat with the key is the same order, whatever the balance is by then", async ({ app }) => {
    await app.fundedWallet("alice", MONEY);
    const first = await swap(app, { size: "50%", idempotencyKey: "half" });
    expect(first.body).toMatchObject({ success: true, sellAmount: "500000000" });
    const again = await swap(app, { size: "half", idempotencyKey: "half" });
    expect(again.body).toMatchObject({ repeated: true, sellAmount: "500000000", txHash: first.body.txHash });
    expect((await swap(app, { size: "all", idempotencyKey: "half" })).status).toBe(409);
    expect((await swap(app, { amount: "500000000", idempotencyKey: "half" })).status).toBe(409);
    const tool = { "Tool-Call": "true" };
    const [one, two] = [await swap(app, { size: "10%" }, tool), await swap(app, { size: "10%" }, tool)];
    expect([one.body.sellAmount, two.body.sellAmount, two.body.repeated]).toEqual([
      "50000000",
      "50000000",
      true,
    ]);
  });

  test("what is no size is a 400 that names it, and without a live price dollars are refused", async ({
    app,
  }) => {
    await app.fundedWallet("alice", MONEY);
    for (const size of ["ten", "1,5", "150%", "0", "5 ETH", "0.0000001", "-1", "$"]) {
      const { status, body } = await swap(app, { size });
      expect([size, status, body.error]).toEqual([size, 400, expect.stringMatching(/^size /)]);
    }
    const both = await swap(app, { size: "5", amount: "5000000" });
    expect([both.status, both.body.error]).toEqual([400, expect.stringMatching(/^size .*amount/)]);
    expect((await swap(app, {})).body.error).toMatch(/^amount is required, or size/);
    const rehearsed = await swap(app, { size: "all", dryRun: true });
    expect(rehearsed.body).toMatchObject({ success: true, sellAmount: "1000000000" });
    await chain.feeds.pause();
    try {
      await chain.feeds.set("USDC", { answer: 100_000_000n, updatedAt: 1 });
      const dollars = await app.post("/mcp/defi/send", {
        userId: "alice",
        token: "USDC",
        toAddress: AT,
        size: "$5",
      });
      expect([dollars.status, dollars.body.error]).toEqual([
        502,
        expect.stringContaining("no live price for USDC"),
      ]);
    } finally {
      await chain.feeds.tick();
      chain.feeds.resume();
    }
    expect(await app.rows("orders")).toEqual([]);
  });
});

test("in the chat the card shows the exact digits, and a tap moves them or nothing", async ({ app }) => {
  const { address } = await owner(app, MONEY);
  const balances = async () => ({
    ETH: await etherOf(address),
    USDC: await balanceOf(chain, TOKENS.USDC, address),
    DAI: await balanceOf(chain, TOKENS.DAI, address),
  });
  for (const [text, token, digits] of [
    ["swap half my USDC to ETH", "USDC", "500"],
    ["buy $20 of BTC", "USDC", "20"],
    ["sell 10 % of my DAI", "DAI", "50"],
    ["sell half my ETH", "ETH", null],
    ["sell all my ETH", "ETH", null],
  ] as const) {
    const before = await balances();
    await say(app, text);
    const card = await newest(app);
    const row = (await app.rows("orders")).at(-1);
    const amount = row !== undefined && "amount" in row.request ? BigInt(row.request.amount) : 0n;
    const shown = digits ?? String(Number(amount) / 1e18).slice(0, 6);
    expect([text, card]).toEqual([text, expect.stringContaining(shown)]);
    await tap(app, "✅ Approve");
    const after = await balances();
    const fee = (await app.rows("orders"))
      .at(-1)
      ?.tries.reduce((sum, { paid = "0" }) => sum + BigInt(paid), 0n);
    const moved = before[token] - after[token] - (token === "ETH" ? (fee ?? 0n) : 0n);
    expect([text, moved]).toEqual([text, amount]);
  }
  const orders = (await app.rows("orders")).length;
  for (const text of NEARLY.slice(0, 3)) {
    await say(app, text);
    expect([text, await newest(app)]).toEqual([text, expect.stringContaining("buy $20 of ETH")]);
  }
  await say(app, "sell all my ETH below 2000");
  expect(await newest(app)).toContain("All ETH → USDC, when ETH is at $2,000 or below");
  await tap(app, "Set");
  await say(app, "/orders");
  expect(await newest(app)).toMatch(
    /🔁 Standing orders\nAll ETH → USDC, when ETH is at \$2,000 or below\n\n/,
  );
  expect((await app.rows("orders")).length).toBe(orders);
});
