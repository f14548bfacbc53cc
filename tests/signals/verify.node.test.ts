import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Statement } from "../../convex/signals/record/chain";
import { statisticsOf } from "../../convex/signals/statistics/figures";
import { emptyTotals } from "../../convex/signals/statistics/totals";
import { rechained } from "./record";
import { ran } from "../stack/processes";

/** The command itself: against a file, against a server, and what it says and exits with. */

const MORE_THAN_A_PAGE = 620;

const statements = Array.from({ length: MORE_THAN_A_PAGE }, (_, index): Statement => {
  const at = (hour: number) => new Date(Date.UTC(2026, 0, 1 + index, hour)).toISOString();
  const generatedAt = at(8);
  return {
    kind: "issued",
    content: {
      token: "BTC",
      day: generatedAt.slice(0, 10),
      ...{ model: "m", promptVersion: "signal-2", refusedDays: 0, gapMinutes: 0, costBps: 15 },
      ...{ calibratedConfidence: 50, calibrationMethod: "shrinkage", calibrationOutcomes: 0 },
      ...{ timeframe: "1h", signal: "HOLD", entry: 100, tp1: null, tp2: null, sl: null },
      ...{ coin: null, momentum: null, confidence: 60, reasoning: "Flat." },
      generatedAt,
      expiresAt: at(14),
      priceSource: "coinbase",
      priceObservedAt: generatedAt,
    },
  };
});
const { events, head } = rechained(statements);
const stats = statisticsOf(emptyTotals());
const signals = events
  .flatMap((event) => (event.kind === "issued" ? [event.content] : []))
  .map((content) => {
    const { token, timeframe, signal, entry, tp1, tp2, sl, confidence, calibratedConfidence, reasoning } =
      content;
    const { model, promptVersion, generatedAt, expiresAt } = content;
    return {
      id: `${token}-${content.day}`,
      ...{ token, timeframe, signal, entry, tp1, tp2, sl, confidence, calibratedConfidence, reasoning },
      ...{
        model,
        promptVersion,
        generatedAt,
        expiresAt,
        costPercent: 0.15,
        chancePercent: null,
        gapMinutes: 0,
      },
      status: "PENDING",
    };
  })
  .reverse();

let folder: string;
const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://127.0.0.1");
  const limit = Number(url.searchParams.get("limit"));
  const before = url.searchParams.get("before") ?? "9";
  const page = signals.filter(({ generatedAt }) => generatedAt < before).slice(0, limit);
  const after = Number(url.searchParams.get("after"));
  const body =
    url.pathname === "/signals/anchors"
      ? { addresses: [], anchors: [] }
      : url.pathname === "/signals/proof"
        ? { events: events.slice(after, after + limit), head }
        : { signals: url.searchParams.get("token") === "ETH" ? [] : page, stats };
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

const verify = (...args: string[]) => ran("scripts/verifySignals.ts", args);

describe("npm run verify-signals", () => {
  test("reads a whole deployment page by page, saves it, and verifies the copy", async () => {
    const file = join(folder, "record.json");
    const live = await verify(url, "--save", file, "--head", head?.hash ?? "");
    expect(live.output).toContain(
      `The record holds: ${MORE_THAN_A_PAGE} events, ${MORE_THAN_A_PAGE} signals.`,
    );
    expect(live.output).toContain(`Head: event ${MORE_THAN_A_PAGE}, ${head?.hash ?? "?"}`);
    expect(live.code).toBe(0);
    const again = await verify(file, "--json");
    expect([again.code, JSON.parse(again.output)]).toMatchObject([
      0,
      { holds: true, problems: [], events: MORE_THAN_A_PAGE, head: { hash: head?.hash }, anchors: null },
    ]);

    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"entry": 100', '"entry": 90'));
    const tampered = await verify(file);
    expect(tampered.code).toBe(1);
    expect(tampered.output).toContain("Event 1 (issued BTC 2026-01-01): its content is not what was hashed");
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
