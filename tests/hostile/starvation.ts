import { vi } from "vitest";
import * as z from "zod";
import { internal } from "../../convex/_generated/api";
import type { Chain } from "../../scripts/chain";
import { random } from "../../scripts/standins/random";
import { newWallet, send, transferTo } from "../chain/support";
import { createApp, type App } from "../support/app";
import { identityOf } from "../support/world";
import { mineWhatIsSent } from "../support/chain/walletApp";

/**
 * Strangers ask for whatever costs something, from many addresses at once, while people use the service and its jobs come
 * due. On the small platform class, with models as slow as the real ones, in simulated time.
 */

export type Attack = {
  /** Requests a second, for so many seconds, from so many addresses. */
  rate: number;
  seconds: number;
  addresses: number;
  seed: number;
};

/** How long what people and the clock are owed took. */
type Owed = { what: string; delayMs: number; deadlineMs: number };

export type Starved = {
  owed: Owed[];
  /** Requests of the attack, and how many of them got which status. */
  tries: number;
  statuses: Map<number, number>;
  /** USD that the strangers spent of what a provider may cost a day, at most. */
  spentUsd: number;
  limitUsd: number;
};

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const USDC = 1_000_000n;
/** So long behind the attack is what is not done waited for. */
const PATIENCE_MINUTES = 15;
/** How slow the providers are, in ms. */
const SLOWNESS = [
  ["llm", 6 * SECOND],
  ["sentiment", 30 * SECOND],
  ["messenger", 300],
] as const;
/** What a client waits for an answer. */
const CALLER_MS = 28 * SECOND;

export async function starve(chain: Chain, attack: Attack): Promise<Starved> {
  const platform = chain.accounts[1];
  if (platform === undefined) throw new Error("The chain has no account for the platform");
  // The day's signals come due within the attack; those of the day before are still open.
  const eight = Math.floor(Date.now() / DAY) * DAY + 2 * DAY + 8 * HOUR;
  const app = createApp({
    chainUrl: () => chain.url,
    now: eight - DAY,
    env: { PLATFORM_WALLET_ADDRESS: platform, CONFIRMATIONS: "1", DEPOSITS_FROM_BLOCK: "1" },
  });
  mineWhatIsSent(chain);
  await chain.miner.look();
  await app.t.mutation(internal.signals.issue.openDay, {});
  await app.settle(60);
  vi.setSystemTime(eight - 40 * MINUTE);
  await chain.miner.look();
  for (const [provider, ms] of SLOWNESS) app.standins.fail(provider, { mode: "slow", ms });

  const shiftId = await prepare(app, chain);
  // No cron runs until the attack does: what is due comes with it.
  const signalsAfter = Math.min(120, Math.floor(attack.seconds / 3));
  await app.advance(eight - signalsAfter * SECOND - Date.now());
  // The price feeds follow the chain's head once a second of real time, and the swap is not to wait for that.
  await chain.miner.mine();
  await chain.feeds.tick();
  const attackAt = Date.now();
  const crowd = strangers(app, attack);
  const meanwhile = (async () => {
    await crowd.at(signalsAfter);
    await app.t.mutation(internal.signals.issue.openDay, {});
    return Promise.all([
      request(app, "a send", "192.0.2.1", "/mcp/defi/send", {
        ...{ userId: "honest-sender", token: "USDC", amount: "1000000", toAddress: platform },
      }),
      request(app, "a swap", "192.0.2.2", "/mcp/defi/swap", {
        ...{ userId: "honest-swapper", fromToken: "USDC", toToken: "WETH", amount: "100000000" },
      }),
      request(
        app,
        "a signed-in user's question",
        "192.0.2.3",
        "/mcp/chat",
        { question: "And ETH?" },
        "carol",
      ),
      deposit(app, chain, platform),
    ]);
  })();
  await crowd.run();
  const owed = await app.during(meanwhile);
  const statuses = await app.during(crowd.over());
  let late = await scheduled(app, shiftId, attackAt, eight);
  for (
    let minute = 0;
    minute < PATIENCE_MINUTES && late.some(({ delayMs }) => delayMs === Infinity);
    minute++
  ) {
    await app.pass(MINUTE);
    late = await scheduled(app, shiftId, attackAt, eight);
  }
  const { body } = await app.get("/health");
  const { checks } = healthShape.parse(body);
  const { llm, sentiment } = checks.budget.providers;
  return {
    owed: [...owed, ...late],
    tries: attack.rate * attack.seconds,
    statuses,
    spentUsd: Math.max(llm.by.anonymous ?? 0, sentiment.by.anonymous ?? 0),
    limitUsd: llm.limitUsd,
  };
}

const spentShape = z.object({ limitUsd: z.number(), by: z.record(z.string(), z.number()) });
const healthShape = z.object({
  checks: z.object({ budget: z.object({ providers: z.object({ llm: spentShape, sentiment: spentShape }) }) }),
});

/** People with money, and a shift whose next collection comes due during the attack. */
async function prepare(app: App, chain: Chain): Promise<string> {
  for (const userId of ["honest-sender", "honest-swapper"]) {
    const { body } = await app.post("/mcp/defi/connect", { userId }, { ip: "192.0.2.1" });
    await chain.fund(hexAddress(String(body.address)), { ETH: 10n ** 18n, USDC: 1_000n * USDC });
  }
  const shift = { userId: "honest-researcher", token: "SOL", messengerChatId: "4242" };
  const { status, text, body } = await app.post("/mcp/research/start", shift, { ip: "192.0.2.4" });
  if (status !== 200) throw new Error(`A shift was not started: ${text}`);
  return String(body.jobId);
}

async function deposit(app: App, chain: Chain, platform: `0x${string}`): Promise<Owed> {
  const payer = await newWallet(chain, { USDC: 5n * USDC });
  await app.t.run((ctx) =>
    ctx.db.insert("linkedAddresses", {
      address: payer.address.toLowerCase(),
      userId: "honest-user",
      linkedAt: Date.now(),
    }),
  );
  const data = transferTo(platform, 5n * USDC);
  const { transactionHash: txHash } = await send(chain, payer, { to: chain.addresses.tokens.USDC, data });
  const startedAt = Date.now();
  await fetchOf(app, "192.0.2.5")("/indexer/deposit", { method: "POST", body: JSON.stringify({ txHash }) });
  const isCredited = async () =>
    (await app.rows("deposits")).some((row) => row.txHash === txHash && row.state === "credited");
  while (!(await isCredited())) await new Promise((go) => setTimeout(go, 500));
  return { what: "a deposit's credits", delayMs: Date.now() - startedAt, deadlineMs: MINUTE };
}

/** Somebody's request, and how long its answer took. */
async function request(
  app: App,
  what: string,
  ip: string,
  path: string,
  input: object,
  as?: string,
): Promise<Owed> {
  const startedAt = Date.now();
  const response = await fetchOf(app, ip, as)(path, { method: "POST", body: JSON.stringify(input) });
  const delayMs = Date.now() - startedAt;
  const text = await response.text();
  if (response.status !== 200)
    throw new Error(`${what} was answered ${response.status} after ${delayMs} ms: ${text}`);
  return { what, delayMs, deadlineMs: CALLER_MS };
}

function fetchOf(app: App, ip: string, as?: string) {
  const client = app.t.withRequestMetadata({ ip, userAgent: null });
  const caller = as === undefined ? client : client.withIdentity(identityOf(as));
  return (path: string, init: RequestInit) => caller.fetch(path, init);
}

/** What the clock owed, from the rows: `attackAt`, when the crons came by, and `eight`, when signals were due, in epoch ms. */
async function scheduled(app: App, shiftId: string, attackAt: number, eight: number): Promise<Owed[]> {
  const late = (what: string, deadlineMs: number, at: number | undefined, since: number): Owed => ({
    what,
    delayMs: at === undefined ? Infinity : Math.max(0, at - since),
    deadlineMs,
  });
  const signals = (await app.rows("signals")).filter(({ generatedAt }) => generatedAt >= eight);
  const closed = (await app.rows("signalEvents")).find(
    ({ kind, _creationTime }) => kind === "closed" && _creationTime >= attackAt,
  );
  const points = (await app.rows("dataPoints")).filter((row) => row.shiftId === shiftId);
  const second = points.find(({ sequence }) => sequence === 2);
  const observation = (await app.rows("observations")).find(({ _id }) => _id === second?.observationId);
  const card = app.cards().find(({ at, text }) => at >= eight && /signal/i.test(text) && /BTC/.test(text));
  return [
    late("the day's two signals", 10 * MINUTE, signals[1]?.generatedAt, eight),
    late("their card", 11 * MINUTE, card?.at, eight),
    late("an outcome", 2 * MINUTE, closed?._creationTime, attackAt),
    late("a shift's collection", 10 * MINUTE, observation?.collectedAt, attackAt),
  ];
}

/** The attack: requests of every kind that costs something, each about something new. */
function strangers(app: App, { rate, seconds, addresses, seed }: Attack) {
  const chance = random("strangers", seed);
  const answers: Promise<void>[] = [];
  const statuses = new Map<number, number>();
  let second = 0;
  const waiting: { second: number; go: () => void }[] = [];
  const any = (count: number) => Math.floor(chance.between(0, count));
  const word = () =>
    `X${any(36 ** 6)
      .toString(36)
      .toUpperCase()}`;
  const hash = () => `0x${Array.from({ length: 64 }, () => any(16).toString(16)).join("")}`;
  const post = (path: string, body: object, headers: Record<string, string> = {}) => ({
    method: "POST",
    path,
    init: { body: JSON.stringify(body), headers },
  });
  const kinds = [
    () => ({ method: "GET", path: `/mcp/market?token=${word()}`, init: {} }),
    () => post("/mcp/research", { token: word() }),
    () => post("/mcp/research/start", { userId: `stranger-${word()}`, token: word() }),
    () => post("/mcp/token", { question: `What of ${word()}?` }),
    () => post("/mcp/chat", { question: `Tell me about ${word()}.` }),
    () => ({ method: "GET", path: `/mcp/signals/recap?userId=${word()}`, init: {} }),
    () => post("/mcp/wallet/create", { userId: `stranger-${word()}` }),
    () =>
      post("/mcp/defi/send", {
        userId: `stranger-${any(20)}`,
        token: "USDC",
        amount: "1",
        toAddress: "0x000000000000000000000000000000000000dEaD",
      }),
    () => post("/indexer/deposit", { txHash: hash() }),
    () => post("/agent/research/paid", { token: word() }, { "X-Payment": hash() }),
  ];
  const attempt = async () => {
    const kind = kinds[any(kinds.length)];
    if (kind === undefined) return;
    const { method, path, init } = kind();
    const ip = `198.51.${any(Math.ceil(addresses / 250))}.${any(250)}`;
    // The platform itself refuses whom it has no room for.
    const status = await fetchOf(app, ip)(path, { method, ...init }).then(
      (response) => response.status,
      () => 503,
    );
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  return {
    /** Resolves so many seconds into the attack. */
    at: (when: number) => new Promise<void>((go) => void waiting.push({ second: when, go })),
    run: async () => {
      for (; second < seconds; second++) {
        for (const one of waiting.filter((other) => other.second <= second)) one.go();
        waiting.splice(0, waiting.length, ...waiting.filter((other) => other.second > second));
        for (let i = 0; i < rate; i++) answers.push(attempt());
        await app.pass(SECOND, { settles: false });
      }
      for (const { go } of waiting) go();
    },
    over: async () => {
      await Promise.all(answers);
      return statuses;
    },
  };
}

function hexAddress(text: string): `0x${string}` {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) throw new Error(`${text} is no address`);
  return `0x${text.slice(2)}`;
}

/** What the report says: how late everything was that was owed. */
export function told({ owed, statuses, tries, spentUsd, limitUsd }: Starved): string {
  const delays = owed.map(
    ({ what, delayMs, deadlineMs }) =>
      `${what} ${(delayMs / SECOND).toFixed(1)} s (of ${deadlineMs / SECOND} s)`,
  );
  const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status}`);
  return `${tries} requests: ${answers.join(", ")}; ${spentUsd.toFixed(2)} of ${limitUsd} USD; ${delays.join(", ")}`;
}
