import { makeFunctionReference } from "convex/server";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { vi } from "vitest";
import * as z from "zod";
import crons from "../../convex/crons";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { checkRow, type Outcome, type Row } from "../../scripts/accept/row";
import { createService, type Exchange, type Got } from "../../scripts/accept/service";
import type { Need, World } from "../../scripts/accept/world";
import { DEV_MNEMONIC } from "../../scripts/chain/addresses";
import { real } from "../../scripts/real";
import { nextDue, scheduleShape } from "../../scripts/stack/crons";
import type { Provider } from "../../scripts/standins";
import { marketAt } from "../signals/support";
import { createApp } from "../support/app";
import { chain } from "../support/chain/chain";
import { createWalletApp } from "../support/chain/walletApp";
import { identityOf, type createWorld, type Answer, type CallInit } from "../support/world";

/** The contract's worlds in this process: on simulated time, or on a chain. */

/** A Sunday just before the day's signals: a week ends on it, too. */
const START = Date.UTC(2026, 0, 4, 7, 58);
const account = mnemonicToAccount(DEV_MNEMONIC, { addressIndex: 0 });
const platform = mnemonicToAccount(DEV_MNEMONIC, { addressIndex: 1 }).address;
const relayer = mnemonicToAccount(DEV_MNEMONIC, { addressIndex: 2 });
const SOCIAL_SECRET = "social-secret-for-the-contract";
const MESSENGER_SECRET = "a-webhook-secret_of-the-contract";

const keyOf = (of: typeof account) => toHex(of.getHdKey().privateKey ?? new Uint8Array());
const settings = {
  PLATFORM_WALLET_ADDRESS: platform,
  SOCIAL_WEBHOOK_SECRET: SOCIAL_SECRET,
  MESSENGER_WEBHOOK_SECRET: MESSENGER_SECRET,
  X402_RELAYER_PRIVATE_KEY: keyOf(relayer),
};

/** Checks a row in a world of its own. */
export function outcomeHere(row: Row): Promise<Outcome> {
  return checkRow(row, row.needs?.includes("chain") === true ? onChain() : onTime());
}

function onTime(): World {
  const app = createApp({ now: START, env: settings });
  return worldOf(
    app,
    (method, path, init) => app.during(app.call(method, path, init)),
    { chain: "needs the chain", proxy: "needs a process" },
    {
      advance: (ms) => passing(app, ms),
      outage: (ms) => app.pass(ms, { cronsRun: false }),
      setPrices: (prices) => marketAt(app, prices),
      rest: () => app.settle(),
    },
  );
}

function onChain(): World {
  const app = createWalletApp(chain, { env: settings });
  // Whoever waits for an owner's tap is told so at once.
  deadlines.tap = 1;
  return worldOf(
    app,
    (method, path, init) => app.call(method, path, init),
    {
      time: "needs time to pass",
      deadlines: "needs deadlines that pass",
      market: "needs a market of its own",
      proxy: "needs a process",
    },
    {
      rpc: async (method, params) => {
        const result = await chain.rpc(method, params);
        if (method === "eth_sendRawTransaction") await chain.miner.look();
        return result;
      },
      payerKey: () => keyOf(account),
    },
  );
}

type Call = (method: string, path: string, init: CallInit) => Promise<Answer>;

function worldOf(
  app: ReturnType<typeof createWorld>,
  call: Call,
  lacks: Partial<Record<Need, string>>,
  more: Partial<World>,
): World {
  const exchange =
    (who: { as?: string; ip?: string } = {}): Exchange =>
    async (method, path, init): Promise<Got> =>
      call(method, path, { ...init, ...who });
  const missing = (): never => {
    throw new Error("A row has to tell what it needs");
  };
  let people = 0;
  return {
    ...createService(exchange()),
    lacks,
    user: "alice",
    fresh: () => `alice-${String(++people)}`,
    sent: (provider) => z.array(request).parse(app.standins.sent(providerOf(provider))),
    cards: () => app.standins.sent("messenger").filter(({ method }) => method !== "sendChatAction"),
    control: async (message) => {
      const path = typeof message.say === "object" ? "_control/messenger/say" : "_control";
      const body = JSON.stringify(message.say ?? message);
      const answer = await app.standins.handle(
        new Request(`http://providers.test/${path}`, { method: "POST", body }),
      );
      if (!answer.ok) throw new Error(await answer.text());
    },
    rest: async () => void (await new Promise((resolve) => real.setTimeout(resolve, 20))),
    from: (ip) => createService(exchange({ ip })),
    socialSecret: () => SOCIAL_SECRET,
    as: (subject) => {
      const client = app.t.withIdentity(identityOf(subject));
      return {
        query: (name, args = {}) => client.query(makeFunctionReference<"query">(name), args),
        mutation: (name, args = {}) => client.mutation(makeFunctionReference<"mutation">(name), args),
        action: (name, args = {}) => client.action(makeFunctionReference<"action">(name), args),
        service: createService(exchange({ as: subject })),
      };
    },
    configure: (variables) => {
      for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value ?? undefined);
    },
    now: () => Date.now(),
    rpc: missing,
    payerKey: missing,
    advance: missing,
    outage: missing,
    proxy: missing,
    setPrices: missing,
    ...more,
  };
}

const request = z.object({
  path: z.string(),
  at: z.number(),
  body: z.unknown(),
  query: z.record(z.string(), z.string()).default({}),
  schema: z.string().default(""),
});

function providerOf(name: string): Exclude<Provider, "messenger"> {
  return z.enum(["llm", "agent", "sentiment", "swap", "coinbase", "coingecko"]).parse(name);
}

/** Lets time pass with every cron, those of certain hours and days included. */
async function passing(app: ReturnType<typeof createApp>, ms: number): Promise<void> {
  const end = Date.now() + ms;
  while (Date.now() < end) {
    const next = Math.min(end, ...clockCrons().map(({ at }) => at));
    const due = clockCrons().filter(({ at }) => at === next);
    await app.pass(next - Date.now(), { settles: false });
    for (const { name } of due) await app.during(app.t.mutation(makeFunctionReference<"mutation">(name), {}));
  }
  await app.settle();
}

/** The next time of each cron that runs at a certain minute. */
function clockCrons(): { name: string; at: number }[] {
  return Object.values(crons.crons).flatMap(({ name, schedule }) => {
    const timetable = scheduleShape.parse(schedule);
    return timetable.from === null ? [] : [{ name, at: nextDue(timetable, Date.now()) }];
  });
}
