import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { chain } from "../support/chain/chain";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { closeApp } from "../support/world";
import { ranHere } from "../support/commands";
import { BINANCE, ETHER, lookAtAll, measuring, moves, USDC, useMoves } from "./observer";

/** The command itself, against a deployment that measured a chain, and against what somebody made of its answers. */

useMoves();

type Alert = Record<string, unknown>;
const pageShape = z.looseObject({ alerts: z.array(z.record(z.string(), z.unknown())) });
const movementShape = z.looseObject({ position: z.number() });

let app: WalletApp;
let url: string;
/** What the deployment shows instead of the truth. */
let told: (alerts: Alert[]) => Alert[] = (alerts) => alerts;

const server = createServer((request, response) => {
  void app.get(request.url ?? "/").then(({ status, body }) => {
    const { alerts, ...page } = pageShape.parse(body);
    response.writeHead(status, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ ...page, alerts: told(alerts) }));
  });
});

beforeAll(async () => {
  app = await measuring();
  const somebody = freshAddress();
  await moves.send([
    { coin: "USDC", from: somebody, to: BINANCE, amount: USDC(5) },
    { coin: "ETH", from: BINANCE, to: somebody, amount: ETHER(10_000) },
  ]);
  await moves.together([
    { coin: "USDT", from: freshAddress(), to: BINANCE, amount: USDC(2) },
    { coin: "USDT", from: freshAddress(), to: BINANCE, amount: USDC(3) },
  ]);
  await lookAtAll(app);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has a port");
  url = `http://127.0.0.1:${address.port}`;
});
afterAll(() => {
  server.close();
  closeApp();
});

const verify = (...args: string[]) => ranHere("scripts/verify/whales.ts", args);

/** Checks what the deployment shows when one of its alerts was changed. */
async function verifyWith(change: (alerts: Alert[]) => Alert[]) {
  told = change;
  try {
    return await verify(url, "--rpc", chain.url);
  } finally {
    told = (alerts) => alerts;
  }
}

const changed = (token: string, fields: Alert) => (alerts: Alert[]) =>
  alerts.map((one) => (one.token === token ? { ...one, ...fields } : one));
const movementOf = (token: string, fields: Alert) => (alerts: Alert[]) =>
  alerts.map((one) =>
    one.token === token ? { ...one, movement: { ...movementShape.parse(one.movement), ...fields } } : one,
  );

describe("npm run verify-whales", () => {
  test("derives every alert again from the chain", async () => {
    const { code, output } = await verify(url, "--rpc", chain.url);
    expect(output).toContain("The alerts are what the chain says: 4 alerts, 3 transactions.");
    expect(code).toBe(0);
  });

  const nobodys = { to: { address: BINANCE, label: { exchange: "Nobody", source: "none" } } };

  test.each<[string, ((alerts: Alert[]) => Alert[])[], RegExp[]]>([
    [
      "another amount, another type, and that one of two movements of a transaction is missing",
      [
        changed("ETH", { amount: 77_000_000 }),
        changed("USDC", { alertType: "cex_outflow" }),
        (alerts) => alerts.filter(({ token, amount }) => token !== "USDT" || Number(amount) > 2_500_000),
      ],
      [
        /amount is shown as 77000000, the chain says \d+/,
        /alertType is shown as cex_outflow/,
        /its alert is missing/,
      ],
    ],
    [
      "another time, another transaction, and one alert twice",
      [
        changed("ETH", { occurredAt: 5 }),
        changed("USDC", { txHash: `0x${"ab".repeat(32)}` }),
        (alerts) => [...alerts, ...alerts.slice(0, 1)],
      ],
      [/occurredAt is shown as 5/, /no such transaction/, /is shown twice/],
    ],
    [
      "another block, another quantity",
      [
        movementOf("ETH", { blockHash: `0x${"cd".repeat(32)}` }),
        movementOf("USDC", { quantity: "6000000000000" }),
      ],
      [/movement blockHash is shown/, /movement quantity is shown/],
    ],
    ["an exchange that has no such address", [movementOf("ETH", nobodys)], [/movement to address is shown/]],
  ])("finds %s", async (_name, changes, problems) => {
    const { code, output } = await verifyWith((alerts) =>
      changes.reduce((changing, change) => change(changing), alerts),
    );
    for (const problem of problems) expect(output).toMatch(problem);
    expect(code).toBe(1);
  });

  test("says so when it has read nothing", async () => {
    const { code, output } = await verifyWith(() => []);
    expect([code, output]).toEqual([2, expect.stringContaining("nothing was read, and nothing checked")]);
  });

  test("says why it could not check", async () => {
    const answers = await Promise.all([
      verify(),
      verify("http://127.0.0.1:1"),
      verify(url, "--rpc", "http://127.0.0.1:1"),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([2, 2, 2]);
    expect(answers.map(({ output }) => output)).toEqual([
      expect.stringContaining("--help says how it is used"),
      expect.stringContaining("cannot be reached"),
      expect.stringContaining("The chain RPC could not be reached"),
    ]);
  });
});
