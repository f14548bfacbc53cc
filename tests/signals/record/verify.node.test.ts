import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Statement } from "../../../convex/signals/record/chain";
import { ranHere } from "../../support/commands";
import { forged } from "./forger";

/** The command itself: against a file, against a server, and what it says and exits with. */

/** Two tokens, an issue and an end each: more events than a page has. */
const DAYS = 155;
const MINUTE = 60_000;
const FIRST = Date.UTC(2099, 0, 1);

const statements = Array.from({ length: DAYS }, (_, index) => index).flatMap((index): Statement[] => {
  const at = (hour: number, minute = 0) =>
    new Date(FIRST + (index * 24 + hour) * 60 * MINUTE + minute * MINUTE).toISOString();
  return (["BTC", "ETH"] as const).flatMap((token, later): Statement[] => {
    const day = at(8).slice(0, 10);
    const about = { token, day, model: "m", promptVersion: "signal-2", refusedDays: 0, gapMinutes: 0 };
    const issued = {
      ...{ ...about, timeframe: "1h" as const, signal: "HOLD" as const, entry: 100, costBps: 15 },
      ...{ calibratedConfidence: 50, calibrationMethod: "shrinkage" as const, calibrationOutcomes: 0 },
      ...{ tp1: null, tp2: null, sl: null, coin: null, momentum: null, confidence: 60, reasoning: "Flat." },
      ...{ generatedAt: at(8, later), expiresAt: at(14, later) },
      ...{ priceSource: "coinbase", priceObservedAt: at(8, later) },
    };
    const closed = {
      ...{ ...about, status: "EXPIRED" as const, closedAt: at(14, later), exitPrice: 100, pnlPercent: null },
      ...{ decidedBy: "candle" as const, inDoubt: false },
    };
    return [
      { kind: "issued", content: issued },
      { kind: "closed", content: closed },
    ];
  });
});
// Events are told in the order of issue.
const MORE_THAN_A_PAGE = statements.length;
const { events, head, signals, stats, cuts } = forged(statements);
/** A minute of each that a price was seen in, and those until the expiry. */
const minutes = Array.from({ length: DAYS }, (_, index) => index).flatMap((index) =>
  Array.from({ length: 365 }, (_, minute) => [
    ...[FIRST + (index * 24 + 8) * 60 * MINUTE + (minute - 2) * MINUTE, 100, 100, 100, 100],
  ]),
);

let folder: string;
const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const limit = Number(url.searchParams.get("limit"));
  const before = url.searchParams.get("before") ?? "9";
  const token = url.searchParams.get("token");
  const page = signals
    .filter((one) => (token === null || one.token === token) && one.generatedAt < before)
    .toReversed()
    .slice(0, limit);
  const after = Number(url.searchParams.get("after"));
  const body =
    url.pathname === "/signals/anchors"
      ? { addresses: [], anchors: [] }
      : url.pathname === "/signals/proof"
        ? { events: events.slice(after, after + limit), head }
        : url.pathname === "/records/proof"
          ? { events: [], head: null, count: 0 }
          : url.pathname === "/signals/shadow"
            ? { events: [], head: null, arms: [], writer: "m@signal-2" }
            : url.pathname === "/health"
              ? { time: new Date(FIRST + DAYS * 24 * 60 * MINUTE).toISOString() }
              : url.pathname === "/record"
                ? { stats: stats?.ALL, cuts }
                : { signals: page, stats: stats?.[token === "BTC" || token === "ETH" ? token : "ALL"] };
  response.setHeader("Content-Type", "application/json").end(JSON.stringify(body));
});
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "verify-signals-"));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The server has a port");
  url = `http://127.0.0.1:${address.port}`;
});
afterAll(async () => {
  server.close();
  await rm(folder, { recursive: true });
});

const verify = (...args: string[]) => ranHere("scripts/verifySignals.ts", args);

describe("npm run verify-signals", () => {
  test("reads a whole deployment page by page, saves it, and verifies the copy", async () => {
    const file = join(folder, "record.json");
    const candles = join(folder, "candles.json");
    await writeFile(candles, JSON.stringify({ BTC: minutes, ETH: minutes }));
    const live = await verify(url, "--save", file, "--head", head?.hash ?? "", "--candles", candles);
    expect(live.output).toContain(
      `The record holds, as far as it was checked: ${MORE_THAN_A_PAGE} events, ${signals.length} signals.`,
    );
    expect(live.output).toContain(`Head: event ${MORE_THAN_A_PAGE}, ${head?.hash ?? "?"}`);
    expect(live.output).toContain(`${signals.length} entries and outcomes are those of the market's minutes`);
    expect(live.output).toMatch(/Not checked:\n {2}- when all this was written: --rpc and --anchor/);
    expect(live.output).not.toContain("nothing is missing");
    expect(live.code).toBe(0);
    const again = await verify(file, "--json");
    expect([again.code, JSON.parse(again.output)]).toMatchObject([
      0,
      {
        ...{ holds: true, problems: [], events: MORE_THAN_A_PAGE, head: { hash: head?.hash }, fixed: [] },
        unchecked: [
          expect.stringContaining("against the market"),
          expect.stringContaining("when all this was written"),
          expect.stringContaining("whether the whole chain was rewritten"),
          expect.stringContaining("which model wrote a signal"),
        ],
      },
    ]);

    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"entry": 100', '"entry": 90'));
    const tampered = await verify(file);
    expect(tampered.code).toBe(1);
    expect(tampered.output).toContain("Event 1 (issued BTC 2099-01-01): its content is not what was hashed");
  });

  test("stands alone: it imports nothing of the service that it checks", async () => {
    const source = await readFile("scripts/verifySignals.ts", "utf8");
    const imported = [...source.matchAll(/(?:from|import\() ?"([^"]+)"/g)].map(([, name]) => name);
    expect(imported).toEqual(["node:crypto", "node:fs/promises", "node:util", "zod"]);
  });

  test("says why it could not check", async () => {
    const broken = join(folder, "broken.json");
    await writeFile(broken, '{"events":1}');
    const answers = await Promise.all([
      verify(),
      verify(join(folder, "none.json")),
      verify(broken),
      verify("http://127.0.0.1:1"),
    ]);
    expect(answers.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    expect(answers.map(({ output }) => output)).toEqual([
      expect.stringContaining("--help says how it is used"),
      expect.stringContaining("cannot be read"),
      expect.stringContaining("is no signal record"),
      expect.stringContaining("cannot be reached"),
    ]);
  });
});
