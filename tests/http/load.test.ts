import { expect } from "vitest";
import { test as appTest, type App } from "../support/app";

/** Two thousand mixed users in nine minutes, with models of 3, 7 and 12 seconds; by default a part of them at the same pace, with `LOAD=1` all. */

const USERS = Math.round(2_000 * Number(process.env.LOAD ?? 0.01));
const MS_OF_ONE = (9 * 60_000) / 2_000;
const env = { TRUSTED_PROXY_HOPS: "1", DAILY_BUDGET_USD: "1000000" };

/** One request of the load. */
type Request = { kind: Kind; method: "GET" | "POST"; path: string; body?: object; ip: string };
type Outcome = { kind: Kind; ms: number; status: number; error: string };
type Kind = "market" | "token" | "chat" | "research" | "order";

/** The parts of a hundred requests. */
const MIX: readonly (readonly [Kind, number])[] = [
  ["market", 25],
  ["token", 40],
  ["chat", 15],
  ["research", 10],
  ["order", 10],
];
const COINS = ["BTC", "ETH", "SOL", "XRP", "DOGE", "ADA", "LINK", "AVAX"];
const SENT_TO = `0x${"2".repeat(40)}`;

/** How long a model takes, in ms: four of five answers 3 s, most others 7, one of twenty 12. */
function getModelDelay(index: number): number {
  const place = index % 20;
  return place === 19 ? 12_000 : place % 6 === 5 ? 7_000 : 3_000;
}

/** The request of a user. Every user has an address of their own, and one question; popular coins are asked for most. */
function buildRequest(index: number): Request {
  const place = (index * 37) % 100;
  let before = 0;
  const kind = MIX.find(([, part]) => place < (before += part))?.[0] ?? "market";
  const coin = COINS[Math.floor(((index * 61) % 64) ** 2 / 512)] ?? "BTC";
  const at = { kind, ip: `10.${(index >> 16) & 255}.${(index >> 8) & 255}.${index & 255}` };
  switch (kind) {
    case "market":
      return { ...at, method: "GET", path: "/mcp/market" };
    case "token":
      return { ...at, method: "POST", path: "/mcp/token", body: { question: `How is ${coin}?` } };
    case "chat":
      return {
        ...at,
        method: "POST",
        path: "/mcp/chat",
        body: { question: `Why did ${coin} move? (${index})` },
      };
    case "research":
      return { ...at, method: "POST", path: "/mcp/research", body: { token: coin } };
    case "order":
      return {
        ...at,
        method: "POST",
        path: "/mcp/defi/send",
        body: {
          userId: `user-${index % 8}`,
          toAddress: SENT_TO,
          token: "ETH",
          amount: String(1_000 + index),
        },
      };
  }
}

async function load(app: App) {
  for (let n = 0; n < 8; n++) await app.post("/mcp/defi/connect", { userId: `user-${n}` });
  let asked = 0;
  const late: object[] = [];
  const ask = async ({ kind, method, path, body, ip }: Request): Promise<Outcome> => {
    const from = Date.now();
    app.standins.clear("llm");
    app.standins.fail("llm", { mode: "slow", ms: getModelDelay(asked++) });
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await app.call(method, path, { ...sent, headers: { "X-Forwarded-For": ip } });
    const { error } = answer.body;
    if (path === "/mcp/research" && answer.status === 502) late.push(body ?? {});
    const reason = typeof error === "string" ? error : "";
    return { kind, status: answer.status, error: reason, ms: Date.now() - from };
  };
  const askAll = async () => {
    const outcomes: Promise<Outcome>[] = [];
    for (let user = 0; user < USERS; user++) {
      outcomes.push(ask(buildRequest(user)));
      await new Promise((go) => void setTimeout(go, MS_OF_ONE));
    }
    return Promise.all(outcomes);
  };
  const outcomes = await app.during(askAll());
  const summary = summarizeLoad(outcomes);
  if (process.env.LOAD !== undefined) process.stdout.write(`${JSON.stringify(summary, null, 1)}\n`);
  return { outcomes, summary, late };
}

/** What a load came to, by kind: how many, the median and the 95th percentile of ms, and what was not answered, with reasons. */
function summarizeLoad(outcomes: readonly Outcome[]) {
  return MIX.map(([kind]) => {
    const all = outcomes.filter((one) => one.kind === kind);
    const ms = all
      .filter(({ status }) => status === 200)
      .map((one) => one.ms)
      .toSorted((a, b) => a - b);
    const percentile = (part: number) => Math.round(ms[Math.ceil(part * ms.length) - 1] ?? 0);
    const refused: Record<string, number> = {};
    for (const { status, error } of all)
      if (status !== 200) {
        const reason = `${status} ${error.replaceAll(/[\d.]+(?= (?:s|min|hour))/g, "N").slice(0, 90)}`;
        refused[reason] = (refused[reason] ?? 0) + 1;
      }
    return { kind, users: all.length, p50: percentile(0.5), p95: percentile(0.95), refused };
  });
}

const large = appTest.extend({ settings: { env: { ...env, CONVEX_CLASS: "S256" } } });
large(
  "on the larger class every question is answered, tokens within eight seconds, and no order waits",
  async ({ app }) => {
    const { outcomes, summary } = await load(app);
    // There is no chain here: an order fails for that, and never for want of a slot.
    const failed = outcomes.filter(({ kind, status }) => status !== (kind === "order" ? 502 : 200));
    expect(failed).toEqual([]);
    expect(summary.find(({ kind }) => kind === "token")?.p95).toBeLessThanOrEqual(8_000);
  },
);

const small = appTest.extend({ settings: { env: { ...env, CONVEX_CLASS: "S16" } } });
small(
  "on the smaller class what is too much is refused honestly and at once, and never an order",
  async ({ app }) => {
    const { outcomes, late } = await load(app);
    // Its sources and its writer may take longer than a caller waits; then it is there for who asks again.
    for (const body of late) expect((await app.during(app.post("/mcp/research", body))).status).toBe(200);
    const isLate = ({ kind, status }: { kind: string; status: number }) =>
      kind === "research" && status === 502;
    const refused = outcomes.filter(
      (one) => !isLate(one) && one.status !== (one.kind === "order" ? 502 : 200),
    );
    expect(refused.filter(({ kind }) => kind === "order")).toEqual([]);
    expect(refused.filter(({ status, ms }) => status !== 429 || ms > 1_000)).toEqual([]);
    expect(refused.every(({ error }) => error.includes("Try again"))).toBe(true);
  },
);
