import { getAddress } from "viem";
import * as z from "zod";
import { command, Misuse } from "../command";
import { real } from "../real";
import { billed, moved } from "../stack/quicker";
import { startStack, type Stack } from "../stack/stack";
import { getModelDelay, runLoad, summarizeLoad, type Request } from "./load";

/** `npm run check -- bench`: what each action takes of the platform and of the models. */

const USAGE = `Usage: npm run check -- bench [--load USERS,MINUTES]

Prints for each action the calls that the platform bills, the bytes that it reads and writes in the database, and what
models cost by the price list. With --load it asks the local stack as so many users in so many minutes instead (at most
5000 and 30), with models of 3, 7 and 12 seconds, and prints the median and the 95th percentile of each kind of request,
and the refusals by reason. CONVEX_CLASS chooses the class whose sizes it has.`;

const [MINUTE, HOUR] = [60_000, 3_600_000];
const SPEED = 1_500;
const BILLED = ["llm", "sentiment", "agentApi"];
const MICROS = 1_000_000;
const pricesShape = z.array(z.looseObject({ priceUsd: z.number() }));
const spendingShape = z.array(z.looseObject({ of: z.string(), micros: z.number() }));

type Taken = { calls: number; read: number; written: number; usd: number; byFunction: Map<string, number> };

await command({ usage: USAGE, flags: { load: { type: "string" } } }, async ({ values }) => {
  if (values.load !== undefined) return loadStack(values.load);
  const rows: [string, Taken][] = [];
  const fast = await startStack({ speed: SPEED, ephemeral: true });
  const measured = async (stack: Stack, name: string, work: () => Promise<unknown>) => {
    rows.push([name, await measure(stack, work)]);
  };
  await measured(fast, "an idle day", () => passes(fast, 24 * HOUR));
  const shift = (userId: string) => post(fast, "/mcp/research/start", { userId, token: "BTC" });
  await measured(fast, "a shift (8.2 h, idle work included)", async () => {
    await shift("alice");
    await passes(fast, 8.2 * HOUR);
  });
  await measured(fast, "ten shifts of one coin (8.2 h, too)", async () => {
    for (let n = 0; n < 10; n++) await shift(`user-${n}`);
    await passes(fast, 8.2 * HOUR);
  });
  await fast.stop();

  const plain = await startStack({ ephemeral: true });
  const ask = (name: string, path: string, body: object) =>
    measured(plain, name, () => post(plain, path, body).then(() => rest(plain)));
  await rest(plain);
  const market = () => measured(plain, "market", () => fetch(`${plain.siteUrl}/mcp/market`));
  await market();
  await market();
  for (const path of ["/mcp/token", "/mcp/token", "/mcp/chat", "/mcp/chat"])
    await ask(path, path, { question: "How is the market for SOL?", userId: "alice" });
  for (const name of ["research", "research"]) await ask(name, "/mcp/research", { token: "SOL" });
  for (const text of ["/status", "/ask How is the market today?"])
    await measured(plain, `bot: ${text}`, async () => {
      const said = { chatId: 7, text };
      await fetch(`${plain.providersUrl}/_control/messenger/say`, {
        method: "POST",
        body: JSON.stringify(said),
      });
      await rest(plain);
    });
  const wallet = await post(plain, "/mcp/defi/connect", { userId: "alice" });
  await plain.chain?.fund(getAddress(String(wallet["address"])), { ETH: 10n ** 18n });
  const order = { userId: "alice", toAddress: plain.chain?.accounts[5] ?? "", token: "ETH", amount: "1000" };
  await ask("send", "/mcp/defi/send", order);
  await crossLevel(plain);
  const tick = () => plain.application.run("mutation", "alerts/watch:checkAlerts", {});
  await measured(plain, "an alert's firing, with its picture", () => tick().then(() => rest(plain)));
  await measured(plain, "page /", () =>
    fetch(plain.siteUrl, { headers: { Accept: "application/xhtml+xml" } }),
  );
  await plain.stop();
  for (const [name, taken] of rows) print(name, taken);
  return 0;
});
process.exit();

function print(name: string, { calls, read, written, usd, byFunction }: Taken): void {
  const kilobytes = (bytes: number) => `${(bytes / 1_000).toFixed(1)} kB`;
  console.log(
    `\n${name}: ${calls} billed calls, ${kilobytes(read)} read, ${kilobytes(written)} written, models ${usd.toFixed(5)} USD`,
  );
  const most = [...byFunction].toSorted(([, a], [, b]) => b - a).slice(0, 8);
  for (const [functionName, made] of most) console.log(`  ${String(made).padStart(6)}  ${functionName}`);
}

/** What the functions did while `work` ran. */
async function measure(stack: Stack, work: () => Promise<unknown>): Promise<Taken> {
  const total = async () => {
    const { spending = [] } = await stack.application.rows();
    const costs = spendingShape.parse(spending).filter(({ of }) => BILLED.includes(of));
    const micros = costs.reduce((all, one) => all + one.micros, 0);
    return { byFunction: new Map(billed), read: moved.bytesRead, written: moved.bytesWritten, micros };
  };
  const before = await total();
  await work();
  const after = await total();
  const byFunction = new Map(
    [...after.byFunction].map(([name, calls]) => [name, calls - (before.byFunction.get(name) ?? 0)]),
  );
  return {
    calls: [...byFunction.values()].reduce((all, one) => all + one, 0),
    read: after.read - before.read,
    written: after.written - before.written,
    usd: (after.micros - before.micros) / MICROS,
    byFunction,
  };
}

/** Asks a stack as many users. @param wish `USERS,MINUTES` */
async function loadStack(wish: string): Promise<number> {
  const [, users = 0, minutes = 0] = (/^(\d{1,4}),(\d{1,2}(?:\.\d)?)$/.exec(wish) ?? []).map(Number);
  if (users < 1 || users > 5_000 || minutes <= 0 || minutes > 30)
    throw new Misuse("--load must be USERS,MINUTES, at most 5000,30");
  // Every user has an address, which the stack reads as from a proxy; the budget is not what is measured.
  Object.assign(process.env, { TRUSTED_PROXY_HOPS: "1", DAILY_BUDGET_USD: "100000" });
  const stack = await startStack({ ephemeral: true });
  for (let n = 0; n < 8; n++) {
    const { address } = await post(stack, "/mcp/defi/connect", { userId: `user-${n}` });
    await stack.chain?.fund(getAddress(String(address)), { ETH: 10n ** 18n });
  }
  let asked = 0;
  const turns = setInterval(() => {
    stack.standins.clear("llm");
    stack.standins.fail("llm", { mode: "slow", ms: getModelDelay(asked++) });
  }, 100);
  const outcomes = await runLoad(users, minutes * MINUTE, {
    ask: async ({ method, path, body, ip }: Request) => {
      const headers = { "X-Forwarded-For": ip };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(stack.siteUrl + path, { method, headers, ...sent });
      const answer = z.looseObject({ error: z.string().optional() }).parse(await response.json());
      return { status: response.status, error: answer.error ?? "" };
    },
    now: () => performance.now(),
    wait: (ms) => new Promise((go) => void real.setTimeout(go, ms)),
  });
  clearInterval(turns);
  for (const { kind, users: of, p50, p95, refused } of summarizeLoad(outcomes)) {
    console.log(`\n${kind}: ${of} users, median ${p50} ms, 95 % within ${p95} ms`);
    for (const [reason, count] of Object.entries(refused))
      console.log(`  ${String(count).padStart(6)}  ${reason}`);
  }
  await stack.stop();
  return 0;
}

/** Sets an alert on Bitcoin's price for a chat, and stores a sample beyond its level as soon as the newest is a minute old. */
async function crossLevel(stack: Stack): Promise<void> {
  const { application, clock } = stack;
  const prices = pricesShape.parse(await application.run("query", "market/samples:listNewestPrices", {}));
  const usd = Math.round((prices[0]?.priceUsd ?? 0) * 1.01);
  await post(stack, "/user/messenger", { userId: "alice", messengerChatId: "777" });
  await post(stack, "/alerts/set", { userId: "alice", text: `BTC above ${usd}` });
  for (let stored = 0; stored !== usd + 1; await rest(stack)) {
    const sample = { token: "BTC", priceUsd: usd + 1, source: "coinbase", observedAt: clock.now() };
    const kept = await application.run("mutation", "market/samples:storeSample", sample);
    stored = pricesShape.element.parse(kept).priceUsd;
  }
}

/** Waits until the stack's clock has passed `ms`. */
async function passes({ clock }: Stack, ms: number): Promise<void> {
  const end = clock.now() + ms;
  while (clock.now() < end) await new Promise((go) => real.setTimeout(go, 50));
}

/** Waits until no function has run for a second. */
async function rest({ application }: Stack): Promise<void> {
  for (let before = -1; before !== application.count();) {
    before = application.count();
    await new Promise((go) => real.setTimeout(go, 1_000));
  }
}

async function post({ siteUrl }: Stack, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(siteUrl + path, { method: "POST", body: JSON.stringify(body) });
  const answer: unknown = await response.json();
  if (!response.ok || typeof answer !== "object" || answer === null)
    throw new Error(`${path} answered ${response.status}: ${JSON.stringify(answer)}`);
  return Object.fromEntries(Object.entries(answer));
}
