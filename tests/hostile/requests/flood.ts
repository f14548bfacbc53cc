import fc from "fast-check";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { SAID } from "../../../convex/alerts/language/reading";
import type { Chain } from "../../../scripts/chain";
import { createFuzzedApp, SECRETS, type FuzzedApp, type Outcome } from "./fuzzTarget";
import "../meta";
import { attempts, type Attempt } from "./requests";

/** Generated requests in any number, and what must hold of any request at all. */

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
  const refused =
    status >= 400 &&
    status < 500 &&
    !isOutcome(path, text) &&
    !isCounted(text) &&
    !isRead(path, text) &&
    !isLookedUp(status, text);
  const counts = isGuess(path, status) ? GUESS_ROWS : isOffered(path, status) ? 1 : 0;
  if (refused && written > counts) problems.push(`refused, and ${written} rows written`);
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

/** A hash that the chain does not know may be a guess, and guesses are counted. */
function isCounted(text: string): boolean {
  return text.includes('"reason":"payment_not_found"');
}

/** Who names a transaction that is not theirs may be guessing. */
function isGuess(path: string, status: number): boolean {
  return status === 404 && path.startsWith("/mcp/defi/transaction?");
}

/** The first 402 of a day has the terms signed: one row for all who are told them until the next day. */
function isOffered(path: string, status: number): boolean {
  return status === 402 && path.startsWith("/agent/research/paid");
}

/** A guess at one thing is counted for whoever guesses, and among everybody's. */
const GUESS_ROWS = 2;

/** What the market's sources know of a name is looked up before anybody can say that it is none. */
function isLookedUp(status: number, text: string): boolean {
  return (
    status === 404 && /^\{"error":"(?:No source knows the token|There is no research report on) /.test(text)
  );
}

/** Words that only a model could read: what it cost is written down, whatever it made of them. */
function isRead(path: string, text: string): boolean {
  return path === "/alerts" && Object.values(SAID).some((said) => text.includes(said.slice(0, 40)));
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
function strangersAmong({ asked }: FuzzedApp, chain: Chain): string[] {
  const own = [
    "http://providers.test/llm/",
    "http://providers.test/agent-api/",
    "http://providers.test/sentiment/",
    "http://providers.test/messenger/bot",
    "http://providers.test/swap-api/",
    "http://providers.test/tickers/",
    "http://providers.test/evidence/",
    chain.url,
  ];
  return [...asked].filter((url) => !own.some((start) => url.startsWith(start)));
}

/** Their batches are others than those of the well behaved outside, however many those are. */
const RUBBISH = [
  { index: 16, mode: "garbage" },
  { index: 17, mode: "drop" },
] as const;
const NO_KEYS = 18;

export type Flood = {
  seed: number;
  /** With all well outside; three more come on top. */
  batches: number;
  /** Requests of a batch. */
  each: number;
  chain: () => Chain;
};

/** Declares the tests of a flood. A batch belongs to its seed and its number, not to how many there are. */
export function flood({ seed, batches, each, chain }: Flood): void {
  const batch = (index: number, count: number) => fc.sample(attempts, { seed: seed + index, numRuns: count });

  describe(`requests of seed ${seed}`, () => {
    beforeEach(({ task }) => {
      task.meta.tries = each;
    });

    test.each(Array.from({ length: batches }, (_, index) => index))(
      "batch %i, all well outside",
      async (index) => {
        const app = await createFuzzedApp(
          chain(),
          index % 2 === 1 ? { DEPOSIT_WEBHOOK_SECRET: SECRET_OF_DEPOSITS } : {},
        );
        const statuses = await throwAt(app, batch(index, each));
        expect(strangersAmong(app, chain())).toEqual([]);
        // Nobody has any money: what was taken up has failed, and nothing was signed.
        for (const row of await app.rows("orders")) {
          expect(row.tries).toEqual([]);
          expect(["failed", "prepared"]).toContain(row.state);
        }
        // Some got through, and most did not.
        expect(statuses.get(200) ?? 0).toBeGreaterThan(each / 10);
        expect(statuses.get(400) ?? 0).toBeGreaterThan(each / 8);
      },
    );

    test.each(RUBBISH)("a batch, everybody outside answers with $mode", async ({ index, mode }) => {
      const app = await createFuzzedApp(chain(), { CHAIN_RPC_URL: "http://providers.test/llm/no-chain" });
      for (const provider of ["llm", "agent", "sentiment", "messenger", "swap"] as const) {
        app.standins.fail(provider, { mode });
      }
      await throwAt(app, batch(index, each));
      expect(strangersAmong(app, chain())).toEqual([]);
    });

    test("a batch, with no key configured", async () => {
      const names = [...Object.keys(SECRETS), "PLATFORM_WALLET_ADDRESS", "MESSENGER_CHAT_ID"];
      const app = await createFuzzedApp(chain());
      for (const name of names) vi.stubEnv(name, "");
      const statuses = await throwAt(app, batch(NO_KEYS, each), true);
      expect(statuses.get(500) ?? 0).toBeGreaterThan(each / 16);
      expect(strangersAmong(app, chain())).toEqual([]);
    });
  });
}
