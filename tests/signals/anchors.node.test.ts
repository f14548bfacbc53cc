import { createServer } from "node:http";
import { expect, vi } from "vitest";
import * as z from "zod";
import { privateKeyToAccount } from "viem/accounts";
import { internal } from "../../convex/_generated/api";
import { closeSignal, issueSignal } from "../../convex/signals/model";
import { main } from "../../scripts/verifySignals";
import { chain, test, useChain } from "../support/chain/chain";
import { createWalletApp, type WalletApp } from "../support/chain/walletApp";

/** The head of the record on a real chain, from the issue to the verifier that reads it there. */

useChain();

const KEY = `0x${"5b".repeat(32)}` as const;
const { address } = privateKeyToAccount(KEY);

const issue = (app: WalletApp, token: "BTC" | "ETH") =>
  app.t.run((ctx) => {
    const now = Date.now();
    return issueSignal(ctx, new Date(now).toISOString().slice(0, 10), {
      ...{ token, signal: "BUY", entry: 100, tp1: 101, tp2: 102, sl: 99, confidence: 70, reasoning: "Up." },
      ...{ model: "m", promptVersion: "p", costBps: 15 },
      price: { usd: 100, source: "coinbase", observedAt: now },
    });
  });

/** What the command says of a deployment. */
async function verified(app: WalletApp, told: (body: string) => string = (body) => body) {
  const server = createServer((request, response) => {
    void app.get(request.url ?? "/").then(({ status, body }) => {
      response.writeHead(status, { "Content-Type": "application/json" });
      response.end(told(JSON.stringify(body)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const at = server.address();
  if (at === null || typeof at === "string") throw new Error("The server has a port");
  const lines: string[] = [];
  const print = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
  try {
    const url = `http://127.0.0.1:${at.port}`;
    const code = await main([url, "--rpc", chain.url, "--anchor", address]);
    return { code, output: lines.join("\n") };
  } finally {
    print.mockRestore();
    server.close();
  }
}

test("an issued signal is anchored on Base before its outcome, once, and the verifier finds it there", async () => {
  await chain.fund(address, { ETH: 10n ** 18n });
  const app = createWalletApp(chain, { env: { ANCHOR_PRIVATE_KEY: KEY } });
  await issue(app, "BTC");
  await issue(app, "ETH");
  await Promise.all([
    app.t.action(internal.signals.actions.anchor, {}),
    app.t.action(internal.signals.actions.anchor, {}),
  ]);
  await app.settle();
  await app.t.action(internal.signals.actions.anchor, {});
  await app.settle();
  const { head } = z
    .object({ head: z.object({ hash: z.string() }) })
    .parse((await app.get("/signals/proof")).body);
  expect((await app.get("/signals/anchors")).body).toMatchObject({
    addresses: [address],
    count: 1,
    anchors: [{ nonce: 0, sequence: 2, status: "confirmed", hash: head.hash }],
  });

  await app.t.run(async (ctx) => {
    const row = await ctx.db.query("signals").first();
    if (row === null) throw new Error("There is a signal");
    const end = { exitPrice: 101, pnlPercent: 1, decidedBy: "candle", gapMinutes: 0 } as const;
    await closeSignal(ctx, row, { ...end, status: "WIN", closedAt: Date.now() + 60_000 });
  });
  const honest = await verified(app);
  expect(honest.output).toContain("✓ The record holds, as far as it was checked: 3 events");
  expect(honest.output).toContain("2 of 2 anchored signals were anchored before their outcome");
  expect(honest.code).toBe(0);

  const hidden = await verified(app, (body) =>
    body.replaceAll(/"txHashes":\["0x[0-9a-f]+"\]/g, '"txHashes":[]'),
  );
  expect(hidden.output).toContain("was mined, and the record does not show it");
  expect(hidden.code).toBe(1);
});
