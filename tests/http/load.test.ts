import { expect } from "vitest";
import { getModelDelay, runLoad, summarizeLoad } from "../../scripts/bench/load";
import { test as appTest, type App } from "../support/app";

/** Two thousand mixed users in nine minutes, with models of 3, 7 and 12 seconds; by default a part of them at the same pace. */

const USERS = Math.round(2_000 * Number(process.env.LOAD ?? 0.01));
const MS_OF_ONE = (9 * 60_000) / 2_000;
const env = { TRUSTED_PROXY_HOPS: "1", DAILY_BUDGET_USD: "1000000" };

async function load(app: App) {
  for (let n = 0; n < 8; n++) await app.post("/mcp/defi/connect", { userId: `user-${n}` });
  let asked = 0;
  const late: object[] = [];
  const outcomes = await app.during(
    runLoad(USERS, USERS * MS_OF_ONE, {
      ask: async ({ method, path, body, ip }) => {
        app.standins.clear("llm");
        app.standins.fail("llm", { mode: "slow", ms: getModelDelay(asked++) });
        const sent = body === undefined ? {} : { body: JSON.stringify(body) };
        const answer = await app.call(method, path, { ...sent, headers: { "X-Forwarded-For": ip } });
        const { error } = answer.body;
        if (path === "/mcp/research" && answer.status === 502) late.push(body ?? {});
        return { status: answer.status, error: typeof error === "string" ? error : "" };
      },
      now: () => Date.now(),
      wait: (ms) => new Promise((go) => void setTimeout(go, ms)),
    }),
  );
  const summary = summarizeLoad(outcomes);
  if (process.env.LOAD !== undefined) process.stdout.write(`${JSON.stringify(summary, null, 1)}\n`);
  return { outcomes, summary, late };
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
