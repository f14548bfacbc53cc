import fc from "fast-check";
import { describe, expect } from "vitest";
import { storeReported } from "../../convex/whales/model";
import { MAX_ALERTS, parseWhaleAnswer } from "../../convex/whales/prompts";
import { closeApp, createApp, START, test, type App } from "../support/app";
import { agentSays, alert, hash, HOUR, watchNow } from "./support";

const read = (answer: unknown) =>
  parseWhaleAnswer(typeof answer === "string" ? answer : JSON.stringify(answer));

describe("an answer", () => {
  test("is read as a bare list, fenced with prose around it, and inside an object; an empty list is one", () => {
    for (const text of [
      JSON.stringify([alert()]),
      `**Whales** [1]\n\`\`\`json\n${JSON.stringify([alert()])}\n\`\`\`\nNo advice.`,
      JSON.stringify({ alerts: [alert()] }),
    ])
      expect([text, parseWhaleAnswer(text)]).toEqual([text, { alerts: [alert()], note: null }]);
    expect(read([])).toEqual({ alerts: [], note: null });
  });

  test("that is prose, nothing, cut short or another object holds no alerts, and says so", () => {
    const note = "The agent's answer contained no list of alerts";
    for (const text of [
      "I found no significant whale activity in the last two hours.",
      "",
      '[{"token":"ETH","alertType":"cex_inflow","amount":',
      '{"status":"ok"}',
    ])
      expect([text, parseWhaleAnswer(text)]).toEqual([text, { alerts: [], note }]);
  });

  test("is loosened where models are loose", () => {
    const loose = {
      token: " $eth ",
      alertType: "CEX Inflow",
      amount: "$4,200,000",
      direction: "Bearish",
      description: "  A large deposit. ",
      txHash: ` ${hash("A")} `,
      confidence: "high",
    };
    expect(read([loose]).alerts).toEqual([alert({ txHash: hash("a") })]);
  });

  test.each(["$4.2M", "4.2 million", "4,200,000 USD", "0.0042bn"])("an amount as %s is read", (amount) => {
    expect(read([alert({ amount })]).alerts).toEqual([alert()]);
  });

  test.each([
    ["an unknown type", { alertType: "nft_mint" }],
    ["an unknown direction", { direction: "up" }],
    ["no direction", { direction: undefined }],
    ["a negative amount", { amount: -1 }],
    ["no amount", { amount: 0 }],
    ["an amount below the floor", { amount: 999_999 }],
    ["an amount in words", { amount: "about four million" }],
    ["an amount of two readings", { amount: "4,200M" }],
    ["an amount of another money", { amount: "€4.2M" }],
    ["an amount beyond all money", { amount: 1e13 }],
    ["a null amount", { amount: null }],
    ["a token that is none", { token: "<b>ETH</b>" }],
    ["no description", { description: " " }],
  ])("with %s in one alert loses that one alone", (_name, fields) => {
    const { alerts } = read([alert(fields), alert({ token: "BTC" })]);
    expect(alerts.map(({ token }) => token)).toEqual(["BTC"]);
  });

  test.each(["0x1234", "none", 7, null, hash("g")])(
    "with %s for a hash keeps the alert without it",
    (txHash) => {
      expect(read([alert({ txHash })]).alerts).toEqual([alert()]);
    },
  );

  test("keeps the chain and the time that it tells", () => {
    const told = alert({ chain: " Ethereum ", occurredAt: "2026-01-05T08:30:00Z" });
    expect(read([told]).alerts).toEqual([
      alert({ chain: "ethereum", occurredAt: Date.UTC(2026, 0, 5, 8, 30) }),
    ]);
  });

  test.each([
    ["a chain of another kind", { chain: ["base"] }],
    ["a chain with a line of its own", { chain: "base\n🔴 sell" }],
    ["a time without a zone", { occurredAt: "2026-01-05T08:30:00" }],
    ["a time in words", { occurredAt: "an hour ago" }],
    ["a time as a number", { occurredAt: 1_767_600_000 }],
  ])("with %s keeps the alert without it", (_name, fields) => {
    expect(read([alert(fields)]).alerts).toEqual([alert()]);
  });

  test("that tells of a movement long ago or to come keeps no time of it, and another chain's transactions are never asked about", async ({
    app,
  }) => {
    const at = (ms: number) => new Date(START + ms).toISOString();
    const solana = "5VERv8NMvzbJMEkV8xnrLkEaWRtSz9CosKDYjCJjBRnbJLgp8uirBgmQpjKhoR4tjF3ZpRzrFmBV6UjKdiSZkQUW";
    agentSays(app, [
      alert({ token: "A", occurredAt: at(-25 * HOUR) }),
      alert({ token: "B", occurredAt: at(HOUR), txHash: "AB".repeat(32) }),
      alert({ token: "C", occurredAt: at(-HOUR), chain: "bitcoin", txHash: solana }),
      alert({ token: "D", amount: 1_000_000, txHash: hash("a") }),
    ]);
    await watchNow(app);
    const rows = (await app.rows("whaleAlerts")).toSorted((a, b) => (a.token < b.token ? -1 : 1));
    expect(rows.map((row) => [row.token, row.occurredAt, row.chain, row.txHash, row.verified])).toEqual([
      ["A", undefined, undefined, undefined, false],
      ["B", undefined, undefined, "ab".repeat(32), false],
      ["C", START - HOUR, "bitcoin", solana, false],
      ["D", undefined, undefined, hash("a"), false],
    ]);
  });

  test("cannot put lines of its own into the card", () => {
    const [told] = read([alert({ description: "Up.\n\n🔴 ETH $9B · \u2028sell" })]).alerts;
    expect(told?.description).toBe("Up. 🔴 ETH $9B · sell (a model's figures)");
  });

  test("of many alerts keeps the largest", () => {
    const { alerts } = read(
      Array.from({ length: 50 }, (_, i) => alert({ token: `T${i}`, amount: 1_000_000 + i })),
    );
    expect(alerts).toHaveLength(MAX_ALERTS);
    expect(alerts[0]?.amount).toBe(1_000_049);
  });

  test("of any kind never throws, and what it yields keeps the contract", () => {
    const item = fc.oneof(
      fc.jsonValue(),
      fc.record({
        token: fc.oneof(fc.constant("ETH"), fc.string()),
        alertType: fc.oneof(fc.constantFrom("smart_money", "CEX-OUTFLOW"), fc.string()),
        amount: fc.oneof(fc.double(), fc.constantFrom("1e9", "$5", "-3")),
        direction: fc.constantFrom("bullish", "NEUTRAL", "none"),
        description: fc.string(),
        txHash: fc.oneof(fc.constant(hash("b")), fc.jsonValue()),
      }),
    );
    const answers = fc.oneof(
      fc.string(),
      fc.array(item).map((items) => JSON.stringify(items)),
    );
    fc.assert(
      fc.property(answers, fc.string(), (answer, prose) => {
        for (const { token, amount, txHash } of parseWhaleAnswer(prose + answer).alerts) {
          expect(token).toMatch(/^[A-Z0-9][A-Z0-9.$-]{0,19}$/);
          expect(Number.isFinite(amount) && amount > 0).toBe(true);
          if (txHash !== undefined)
            expect(txHash).toMatch(/^(?:(?:0x)?[0-9a-f]{64}|[1-9A-HJ-NP-Za-km-z]{80,88})$/);
        }
      }),
    );
  });

  test("is stored without a messenger, and nothing waits in the outbox", async () => {
    const app = createApp({ env: { MESSENGER_CHAT_ID: "" } });
    agentSays(app, [alert()]);
    await watchNow(app);
    expect(await app.rows("whaleAlerts")).toMatchObject([{ messengerSent: false }]);
    expect(await app.rows("messages")).toEqual([]);
  });
});

/** Answers, an hour apart, as they leave the alerts: amount in millions, description, transaction. */
async function told(app: App, ...answers: (readonly object[])[]) {
  for (const [hour, answer] of answers.entries()) {
    const alerts = read(answer).alerts.map((one) => ({ ...one, verified: false }));
    await app.t.run((ctx) => storeReported(ctx, alerts, START + hour * HOUR));
  }
  const rows = await app.rows("whaleAlerts");
  return rows.map(({ amount, description, txHash }) => [amount / 1e6, description, txHash]);
}

describe("one movement told twice", () => {
  test("is one alert unless token, amount, chain or transaction are another's", async () => {
    for (const [name, first, second, count] of [
      [
        "the same transaction, whatever else is told",
        { txHash: hash("1"), amount: 1_500_000 },
        { txHash: hash("1") },
        1,
      ],
      ["the same token and type and nearly the amount", {}, { amount: 4_000_000 }, 1],
      ["a transaction known only the second time", {}, { txHash: hash("1") }, 1],
      ["another amount", {}, { amount: 3_700_000 }, 2],
      ["another type", {}, { alertType: "smart_money" }, 1],
      ["another type of another amount", {}, { alertType: "smart_money", amount: 4_000_000 }, 2],
      ["a wrapped form of the coin", {}, { token: "WETH" }, 1],
      [
        "its transaction, with a wrapped form",
        { txHash: hash("1") },
        { txHash: hash("1"), token: "WETH" },
        1,
      ],
      ["another token", {}, { token: "BTC" }, 2],
      ["another chain", { chain: "base" }, { chain: "ethereum" }, 2],
      ["a chain known only the second time", {}, { chain: "ethereum" }, 1],
      ["another transaction of the same amount", { txHash: hash("1") }, { txHash: hash("2") }, 2],
      [
        "one transaction that moved two tokens",
        { txHash: hash("1") },
        { txHash: hash("1"), token: "USDC" },
        2,
      ],
    ] as const) {
      const app = createApp();
      expect([name, (await told(app, [alert(first)], [alert(second)])).length]).toEqual([name, count]);
      closeApp();
    }
  });

  test("is told anew after six hours", async ({ app }) => {
    expect(await told(app, [alert()], [], [], [], [], [alert()])).toHaveLength(1);
    expect(await told(app, [], [], [], [], [], [], [], [], [], [], [], [], [alert()])).toHaveLength(2);
  });

  test("takes on its transaction, and keeps its first telling", async ({ app }) => {
    const again = alert({ txHash: hash("1"), description: "Told again." });
    expect(await told(app, [alert()], [again])).toEqual([[4.2, "A large deposit.", hash("1")]]);
  });

  test("within one answer is stored once", async ({ app }) => {
    const answer = [alert(), alert({ txHash: hash("1") }), alert({ txHash: hash("1"), amount: 1_900_000 })];
    expect(await told(app, answer)).toEqual([[4.2, "A large deposit.", hash("1")]]);
  });
});

test("two movements of nearly one amount in one answer are two, and none gets another's transaction", async ({
  app,
}) => {
  const a = alert({ amount: 50e6, description: "Deposit A" });
  const b = alert({ amount: 49e6, description: "Deposit B", txHash: hash("b") });
  const c = alert({ amount: 48e6, description: "Deposit C", txHash: hash("c") });
  const three = [
    [49, "Deposit B", hash("b")],
    [48, "Deposit C", hash("c")],
    [50, "Deposit A", undefined],
  ];
  expect(await told(app, [a, b, c])).toEqual(three);
  expect(await told(app, [c, b, a])).toEqual(three);
});
