import { describe, expect, test } from "vitest";
import { endpoints } from "../../convex/endpoints";
import { json, textOf, service, proxy, useProxy } from "./support";

/** What the proxy makes of answers and inputs that are out of the ordinary. */

useProxy();

function exampleOf(path: string): Record<string, unknown> {
  const output: unknown = endpoints.find((one) => one.path === path)?.example?.output;
  if (typeof output !== "object" || output === null) throw new Error(`${path} has no example`);
  return { ...output };
}

const USER = "3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7";

describe("an answer", () => {
  test("is at most 2 kB for a whole market snapshot", async () => {
    const coins = Array.from({ length: 20 }, (_, index) => ({
      rank: index + 1,
      name: `Coin number ${index}`,
      symbol: `COIN${index}`,
      price: 1_234.567 * (index + 1),
      change24h: index - 5.234,
      marketCap: 1.2345e9 * (index + 1),
    }));
    const trending = coins.slice(0, 10).map(({ name, symbol, rank, change24h }) => ({
      name,
      symbol,
      rank,
      change24h,
    }));
    const { focus: _focus, ...market } = exampleOf("/mcp/market");
    service.answers(json(200, { ...market, trending, top20: coins }));
    const result = await proxy.call("get_market_data");
    expect(textOf(result)).toContain("20. Coin number 19 (COIN19) $24,691.34, +13.77%, $24.69B");
    expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThanOrEqual(2_048);
  });

  test("of 500 whale alerts shows the 30 largest, largest first, and what is known of each", async () => {
    const alerts = Array.from({ length: 500 }, (_, index) => ({
      token: "ETH",
      alertType: "large_transfer",
      // Every alert of another size, the order mixed.
      amount: 1_000_000 + ((index * 37) % 500) * 1_000,
      direction: "neutral",
      description: "Moved between wallets.",
      source: "agent-reported",
      detectedAt: Date.UTC(2026, 0, 5, 9, 30),
      messengerSent: false,
      verified: index % 2 === 0,
      ...(index % 2 === 0 ? { txHash: `0x${"ab".repeat(32)}` } : {}),
    }));
    service.answers(json(200, { hours: 168, count: 500, alerts }));
    const result = await proxy.call("get_whale_alerts", { hours: 168 });
    const [head, ...rows] = textOf(result).split("\n");
    expect(head).toBe("500 whale alerts in the last 168 h, the 30 largest:");
    expect(rows).toHaveLength(30);
    const amounts = rows.map((row) => Number(/\$([\d.]+)M/.exec(row)?.[1]));
    expect(amounts[0]).toBe(1.5);
    expect(amounts).toEqual(amounts.toSorted((one, other) => other - one));
    expect(
      rows.some((row) =>
        row.endsWith(`Moved between wallets. (agent-reported, verified, 0x${"ab".repeat(32)})`),
      ),
    ).toBe(true);
    expect(result.structuredContent).toBeUndefined();
  });

  test("tells of a transaction that the chain does not have that it is not verified", async () => {
    const [, reported] = [exampleOf("/mcp/whale-alerts").alerts].flat();
    service.answers(json(200, { hours: 6, count: 1, alerts: [reported] }));
    expect(textOf(await proxy.call("get_whale_alerts"))).toMatch(
      /\(agent-reported, ethereum, not verified, 0x[0-9a-f]{64}\)$/,
    );
  });

  test("says nothing of a card where there was nothing to send, and where cards go when none arrived", async () => {
    service.answers(json(200, { signals: { BTC: null, ETH: null }, messengerSent: false }));
    expect(textOf(await proxy.call("get_latest_signal", { userId: USER }))).toBe(
      "BTC: no signal yet.\nETH: no signal yet.",
    );
    service.answers(json(200, { ...exampleOf("/mcp/signals/recap"), messengerSent: false }));
    expect(textOf(await proxy.call("get_daily_recap", { userId: USER }))).toMatch(
      /\nNo card has arrived in the messenger so far; set_telegram says where a person's cards go\.$/,
    );
  });

  test("tells of a claim of the userId with every answer, and passes on which ways out an owner has", async () => {
    const claimPending = "2026-01-07T09:00:00.000Z";
    for (const [tool, path] of [
      ["get_portfolio", "/mcp/defi/portfolio"],
      ["connect_wallet", "/mcp/defi/connect"],
    ] as const) {
      const claimEndUrl = `https://some.site/claim/end?userId=${USER}`;
      service.answers(json(200, { ...exampleOf(path), claimPending, claimEndUrl }));
      const told = textOf(await proxy.call(tool, { userId: USER }));
      expect(told).toContain(`owns its wallet from ${claimPending}`);
      expect(told.endsWith(claimEndUrl)).toBe(true);
      const ownedNote = "This userId has an owner: only its owner can move what is paid in";
      service.answers(json(200, { ...exampleOf(path), owned: true, ownedNote }));
      expect(textOf(await proxy.call(tool, { userId: USER }))).toContain(`${ownedNote}.`);
    }
    const error = "This userId has an owner: this needs …";
    service.answers(json(403, { error }));
    const refused = await proxy.call("set_telegram", { userId: USER, messengerChatId: "7" });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining(error)]);
  });

  test("names the chain in one way", async () => {
    for (const [tool, path] of [
      ["connect_wallet", "/mcp/defi/connect"],
      ["create_wallet", "/mcp/wallet/create"],
      ["get_wallet_balance", "/mcp/wallet/balance"],
      ["get_portfolio", "/mcp/defi/portfolio"],
    ] as const) {
      service.answers(json(200, exampleOf(path)));
      expect(textOf(await proxy.call(tool, { userId: USER }))).toMatch(/\bon Base\b/);
    }
  });

  test("to set_telegram without a setting does not claim that something was saved", async () => {
    service.answers(json(200, { success: true }));
    expect(textOf(await proxy.call("set_telegram", { userId: USER }))).toBe(
      "Nothing was changed: neither a bot token nor a chat was given.",
    );
    expect(textOf(await proxy.call("set_telegram", { userId: USER, telegramChatId: "" }))).toBe(
      "The messenger settings are saved.",
    );
  });
});

describe("a report of a whole-market shift", () => {
  test("is asked for by the shift's id", async () => {
    const { jobToken: _token, ...report } = exampleOf("/mcp/research/report");
    service.answers(json(200, report));
    const result = await proxy.call("get_research_report", { jobId: "k57c8q0v3w5x7y9z" });
    expect(service.received[0]?.path).toBe("/mcp/research/report?jobId=k57c8q0v3w5x7y9z");
    expect(textOf(result)).toMatch(/^Final report on the whole market, 2026-/);
  });
});

describe("a userId", () => {
  test("that is a number is refused by every tool alike", async () => {
    service.answers(json(400, { error: "userId must be a string" }));
    for (const tool of ["get_portfolio", "get_wallet_balance", "get_research_status", "connect_wallet"]) {
      const result = await proxy.call(tool, { userId: 5 });
      expect([tool, result.isError, textOf(result)]).toEqual([tool, true, "userId must be a string"]);
    }
    // The service has judged the one that goes as a body.
    expect(service.received.map(({ method }) => method)).toEqual(["POST"]);
  });

  test("that is short gets what it would over HTTP, the warning among it", async () => {
    const weak = { warning: "This userId is short." };
    const tools = {
      connect_wallet: ["/mcp/defi/connect", {}],
      create_wallet: ["/mcp/wallet/create", {}],
      get_portfolio: ["/mcp/defi/portfolio", {}],
      get_wallet_balance: ["/mcp/wallet/balance", {}],
      send_token: ["/mcp/defi/send", { toAddress: USER, token: "USDC", amount: "1" }],
      swap_tokens: ["/mcp/defi/swap", { fromToken: "USDC", toToken: "ETH", amount: "1" }],
    } as const;
    for (const [tool, [path, order]] of Object.entries(tools)) {
      service.answers(json(200, { ...exampleOf(path), ...weak }));
      const result = await proxy.call(tool, { userId: "alice", ...order });
      expect([tool, result.isError]).not.toEqual([tool, true]);
      expect(textOf(result)).toContain(`\n${weak.warning}`);
      expect(result.structuredContent).toMatchObject(weak);
      expect(service.received).toHaveLength(1);
    }
  });
});

describe("a rehearsal", () => {
  const fees = {
    transactions: 2,
    gasLimit: "410000",
    maxFeePerGas: "2000000",
    l1Fee: "0",
    mostEth: "0.00000082",
    ceilingGas: "3000000",
    ceilingEth: "0.02",
  };
  const rehearsed = { success: true, status: "rehearsed" };
  const about = "transfers in 24 hours that leave the wallets of a userId that could be guessed";
  const limits = [{ of: "day", whose: "userId", about, mostUsd: 500, leftUsd: 320 }];
  const sound = { refusal: null, valueUsd: 100, limits, fees };

  test("of a swap reads as one: nothing was moved, and this is what it would come to", async () => {
    const price = {
      source: "chainlink",
      fromUsd: 1,
      toUsd: 3_400,
      costBps: 15,
      mostCostBps: 114,
      toleratedBps: 200,
    };
    const order = { fromToken: "USDC", toToken: "WETH", sellAmount: "100000000" };
    const quoted = { buyAmount: "29324000000000000", minBuyAmount: "29030760000000000", priceChecked: true };
    const rehearsal = { ...sound, approvals: [], price };
    const weak = { warning: "This userId is short" };
    service.answers(json(200, { ...rehearsed, ...order, ...quoted, rehearsal, ...weak }));
    const input = { userId: USER, fromToken: "USDC", toToken: "WETH", amount: "100000000", dryRun: true };
    const result = await proxy.call("swap_tokens", input);
    expect(textOf(result).split("\n")).toEqual([
      "Swap of 100 USDC for about 0.029324 WETH (at least 0.02903076 WETH).",
      "A rehearsal: NOTHING was moved.",
      "Nothing speaks against it as of now.",
      "Worth $100.00.",
      "By the price feeds it costs 0.15 %; more than 2 % is refused.",
      "Network fees: at most 0.00000082 ETH, for 2 transactions.",
      `Limit of ${about}: $500.00, $320.00 of it left.`,
      "This userId is short",
    ]);
    expect(result.structuredContent).toMatchObject({ status: "rehearsed", rehearsal: { refusal: null } });
  });

  test("of a send that would be refused says why", async () => {
    const refusal = { status: 400, error: "Insufficient USDC: 9 needed, the wallet holds 5, 4 is missing" };
    const sent = { token: "USDC", toAddress: `0x${"b0".repeat(20)}`, amount: "9000000" };
    const rehearsal = { ...sound, refusal, limits: [], fees: null };
    service.answers(json(200, { ...rehearsed, success: false, ...sent, rehearsal }));
    const result = await proxy.call("send_token", { userId: USER, ...sent, dryRun: true });
    expect(textOf(result)).toContain(
      "It would be refused (400): Insufficient USDC: 9 needed, the wallet holds 5, 4 is missing",
    );
    expect(result.isError).not.toBe(true);
  });
});
