import { createServer } from "node:http";
import { expect, vi } from "vitest";
import * as z from "zod";
import { privateKeyToAccount } from "viem/accounts";
import { internal } from "../../convex/_generated/api";
import { closeSignal, issueSignal } from "../../convex/signals/model";
import { main } from "../../scripts/verify/signals";
import { buy } from "./support";
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
      token,
      ...buy,
      signal: "BUY",
      model: "m",
      promptVersion: "p",
      costBps: 15,
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

const hash = z.string();
const proof = z.object({
  head: z.object({ hash }),
  events: z.array(z.object({ hash, anchors: z.array(z.unknown()) })),
});

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
  const { head, events } = proof.parse((await app.get("/signals/proof")).body);
  const anchored = { address, txHashes: [expect.any(String)] };
  expect(events.map(({ hash, anchors }) => ({ hash, anchors }))).toEqual([
    { hash: expect.any(String), anchors: [] },
    { hash: head.hash, anchors: [anchored] },
  ]);

  await app.t.run(async (ctx) => {
    const row = await ctx.db.query("signals").first();
    if (row === null) throw new Error("There is a signal");
    const end = { exitPrice: 101, pnlPercent: 1, gapMinutes: 0 } as const;
    await closeSignal(ctx, row, { ...end, status: "WIN", closedAt: Date.now() + 60_000 });
  });
  const honest = await verified(app);
  expect(honest.output).toContain("✓ The record holds, as far as it was checked: 3 events");
  expect(honest.output).toContain("2 of 2 anchored signals were anchored before their outcome");
  expect(honest.code).toBe(0);

  const hidden = await verified(app, (body) =>
    body.replaceAll(/"txHashes":\["0x[0-9a-f]+"\]/g, '"txHashes":[]'),
  );
  expect(hidden.output).toContain("has sent 1 transactions, and the record shows 0");
  expect(hidden.code).toBe(1);
});
