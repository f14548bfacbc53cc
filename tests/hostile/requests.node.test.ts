import fc from "fast-check";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Chain } from "../../scripts/stack/chain";
import { closeApp } from "../support/world";
import { startTestChain } from "../support/walletApp";
import { createFuzzedApp, SECRETS, type FuzzedApp, type Outcome } from "./fuzzed";
import { attempts, type Attempt } from "./requests";

/**
 * Ten thousand requests made from the API document, most of them wrong in some way. Every answer is one the document
 * tells of (the test's own client holds it against it); beyond that, what must hold of any request at all.
 */

let chain: Chain;
beforeAll(async () => {
  chain = await startTestChain();
});
afterAll(() => chain.stop());
afterEach(closeApp);

const SEED = Number(process.env["HOSTILE_SEED"] ?? 20_260_105);
const AT_ONCE = 20;
const SECRET_OF_DEPOSITS = "deposit-webhook-secret-of-the-fuzz";

const UPSTREAM = /gateway|sentiment|agent API|swap provider|chain|facilitator|messenger/i;
const STACK =
  /\bat \S{1,100} ?\(?\S{1,200}:\d+:\d+|\.[jt]s:\d+|node_modules|node:internal|scripts\/stack|Uncaught/;

function problemsOf(
  { path, headers }: Attempt,
  { status, text, written }: Outcome,
  unset: boolean,
): string[] {
  const problems: string[] = [];
  if (status === 500 && !(unset && text.includes("is not configured")))
    problems.push("an unexpected failure");
  if (status === 502 && !UPSTREAM.test(text)) problems.push("an upstream failure that names nobody");
  if (status > 502 || status === 501) problems.push("a status of nobody's");
  const refused = status >= 400 && status < 500 && !isOutcome(path, text);
  if (refused && written > 0) problems.push(`refused, and ${written} rows written`);
  for (const [name, secret] of Object.entries(SECRETS)) {
    if (text.includes(secret)) problems.push(`tells ${name}`);
  }
  const sent = path + JSON.stringify(headers);
  const stack = STACK.exec(text)?.[0];
  if (stack !== undefined && !sent.includes(stack) && !path.startsWith("/docs"))
    problems.push(`shows "${stack}"`);
  if (/providers\.test|127\.0\.0\.1/.test(text)) problems.push("tells an internal address");
  return problems;
}

/** An order that was taken up and could not be paid: its row says so, and the same key gets the same answer. */
function isOutcome(path: string, text: string): boolean {
  return /^\/mcp\/defi\/(?:send|swap)$/.test(path) && text.startsWith('{"error":"Insufficient ');
}

async function throwAt(
  app: FuzzedApp,
  requests: readonly Attempt[],
  unset = false,
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  // Time passes for all of them alike, and what they scheduled belongs to none of them.
  let over: (value: null) => void = () => undefined;
  const passing = app.during(new Promise((resolve) => void (over = resolve)));
  const queue = requests.values();
  const failures: string[] = [];
  const worker = async () => {
    for (const one of queue) {
      try {
        const outcome = await app.attempt(one);
        statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1);
        for (const problem of problemsOf(one, outcome, unset)) {
          failures.push(`${problem}\n${told(one)}\n→ ${outcome.status} ${outcome.text.slice(0, 300)}`);
        }
      } catch (error) {
        failures.push(`${String(error).slice(0, 800)}\n${told(one)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  over(null);
  await passing;
  expect(
    failures.length === 0 ? "" : `${failures.length} of them:\n\n${failures.slice(0, 12).join("\n\n")}`,
  ).toBe("");
  return statuses;
}

function told({ method, path, headers, body }: Attempt): string {
  return `${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 300)} ${(body ?? "").slice(0, 400)}`;
}

/** The addresses that are the service's own to ask. */
function strangersAmong({ asked }: FuzzedApp): string[] {
  const own = [
    "http://providers.test/llm/",
    "http://providers.test/agent-api/",
    "http://providers.test/sentiment/",
    "http://providers.test/messenger/bot",
    "http://providers.test/swap-api/",
    "http://providers.test/tickers/",
    chain.url,
  ];
  return [...asked].filter((url) => !own.some((start) => url.startsWith(start)));
}

const batch = (index: number, count: number) => fc.sample(attempts, { seed: SEED + index, numRuns: count });

describe(`requests of seed ${SEED}`, () => {
  test.each(Array.from({ length: 16 }, (_, index) => index))("batch %i, all well outside", async (index) => {
    const app = await createFuzzedApp(
      chain,
      index % 4 === 3 ? { DEPOSIT_WEBHOOK_SECRET: SECRET_OF_DEPOSITS } : {},
    );
    const statuses = await throwAt(app, batch(index, 500));
    expect(strangersAmong(app)).toEqual([]);
    // Nobody has any money: what was taken up has failed, and nothing was signed.
    for (const row of await app.rows("transactions")) {
      expect(row.rawTransaction).toBeUndefined();
      expect(["failed", "prepared"]).toContain(row.state);
    }
    // Some got through, and most did not.
    expect(statuses.get(200) ?? 0).toBeGreaterThan(50);
    expect(statuses.get(400) ?? 0).toBeGreaterThan(100);
  });

  test.each([16, 17])("batch %i, everybody outside talks rubbish", async (index) => {
    const app = await createFuzzedApp(chain, { CHAIN_RPC_URL: "http://providers.test/llm/no-chain" });
    for (const provider of ["llm", "agent", "sentiment", "messenger", "swap"] as const) {
      app.standins.fail(provider, { mode: index === 16 ? "garbage" : "drop" });
    }
    await throwAt(app, batch(index, 600));
    expect(strangersAmong(app)).toEqual([]);
  });

  test("a batch, with no key configured", async () => {
    const names = [...Object.keys(SECRETS), "PLATFORM_WALLET_ADDRESS", "MESSENGER_CHAT_ID"];
    const app = await createFuzzedApp(chain);
    for (const name of names) vi.stubEnv(name, "");
    const statuses = await throwAt(app, batch(18, 800), true);
    expect(statuses.get(500) ?? 0).toBeGreaterThan(50);
    expect(strangersAmong(app)).toEqual([]);
  });
});

test("a bot token leads nowhere but to the messenger's own method", async () => {
  const app = await createFuzzedApp(chain);
  const token = "../../swap-api/x?a=b#c@evil.test/../..";
  const userId = "somebody-with-a-strange-bot";
  expect(
    (await app.post("/user/messenger", { userId, messengerBotToken: token, messengerChatId: "77" })).status,
  ).toBe(200);
  expect((await app.post("/mcp/research/start", { userId })).status).toBe(200);
  for (let i = 0; i < 200 && (await app.rows("messages")).some(({ state }) => state === "queued"); i++)
    await app.settle(2);
  const toMessenger = [...app.asked].filter(
    (url) => url.includes("/messenger/") || url.includes("sendMessage"),
  );
  expect(toMessenger).toEqual([
    `http://providers.test/messenger/bot${encodeURIComponent(token)}/sendMessage`,
  ]);
});
