import { ConvexHttpClient } from "convex/browser";
import { makeFunctionReference } from "convex/server";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import * as z from "zod";
import { command, Misuse } from "../command";
import { dim, green, red } from "../terminal";
import { contract } from "./contract";
import { checkRow, Skipped, type Outcome } from "./row";
import { createService, overHttp } from "./service";
import { type Service } from "./world";
import type { Need, World } from "./world";

/**
 * `npm run accept [-- URL]`: checks the contract row by row against the local stack or any deployment, as a client that
 * knows nothing else. It imports nothing of the service.
 */

const USAGE = `Usage: npm run accept [-- URL] [options]

Checks the published interface row by row and says which rows differ: at URL by HTTP alone, without URL at the local stack
with its stand-ins, its chain and its people. Rows that need what is not there are skipped, with the reason. It moves
nobody's money but the local chain's.

  --user ID        the userId that it uses (alice)
  --only TEXT      only rows whose id contains this
  --proxy FILE     the built stdio proxy (dist/proxy.js)

Environment: PORT (3211), API_PORT (3210), PROVIDERS_PORT (3299), CHAIN_PORT (8545) of the local stack

Exit code 1 means that a row differs.`;

const FLAGS = {
  user: { type: "string", default: "alice" },
  only: { type: "string", default: "" },
  proxy: { type: "string", default: "dist/proxy.js" },
} as const;

const MARKS: Record<Outcome["outcome"], string> = { holds: green("✓"), differs: red("✗"), skipped: dim("–") };
/** The public mnemonic of the local chain's accounts. */
const DEV_MNEMONIC = "test test test test test test test test test test test junk";

const formatRow = ({ id, says, outcome, why }: Outcome): string =>
  `${MARKS[outcome]} ${id}: ${says}${why === null ? "" : `\n    ${why}`}`;

const sentShape = z.array(
  z.object({
    path: z.string(),
    at: z.number(),
    body: z.unknown(),
    query: z.record(z.string(), z.string()).default({}),
    schema: z.string().default(""),
  }),
);
const cardShape = z.array(
  z.object({
    botToken: z.string(),
    method: z.string(),
    chatId: z.string(),
    text: z.string(),
    at: z.number(),
  }),
);
const rpcShape = z.union([
  z.object({ result: z.unknown() }),
  z.object({ error: z.looseObject({ message: z.string() }) }),
]);

/** @param url A deployment; `null` for the local stack. */
function worldAt(url: string | null, { user, proxy }: { user: string; proxy: string }): World {
  const port = (name: string, usual: string) => `http://127.0.0.1:${process.env[name] || usual}`;
  const site = url ?? port("PORT", "3211");
  const [api, providers, node] = [
    port("API_PORT", "3210"),
    port("PROVIDERS_PORT", "3299"),
    port("CHAIN_PORT", "8545"),
  ];
  const local = (what: string) => (url === null ? {} : { [what]: "needs the local stack" });
  const lacks: Partial<Record<Need, string>> = {
    time: "needs time to pass",
    settings: "needs the service's settings",
    market: "needs a market of its own",
    ...local("standins"),
    ...local("chain"),
    ...local("people"),
  };
  // The stack keeps its users, so each run has its own.
  const run = crypto.randomUUID();
  const absent = (): never => {
    throw new Skipped("needs what is not here");
  };
  const ask = async (path: string, body?: unknown): Promise<unknown> => {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await fetch(`${providers}${path}`, init);
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response.status === 204 ? null : response.json();
  };
  const serviceWith = (headers: Record<string, string> = {}): Service =>
    createService(patiently(overHttp(site, headers)));
  return {
    ...serviceWith(),
    lacks,
    user,
    fresh: () => `${user}-${crypto.randomUUID()}`,
    sent: async (provider) => sentShape.parse(await ask(`/_sent/${provider}`)),
    cards: async () =>
      cardShape.parse(await ask("/_sent/messenger")).filter(({ method }) => method !== "sendChatAction"),
    control: async (message) => void (await ask("/_control", message)),
    rpc: async (method, params) => {
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
      const headers = { "Content-Type": "application/json" };
      const answer = rpcShape.parse(await (await fetch(node, { method: "POST", headers, body })).json());
      if ("error" in answer) throw new Error(answer.error.message);
      return answer.result;
    },
    payerKey: () => toHex(mnemonicToAccount(DEV_MNEMONIC).getHdKey().privateKey ?? new Uint8Array()),
    rest: () => new Promise((resolve) => setTimeout(resolve, 250)),
    as: async (subject) => {
      const { token } = z
        .object({ token: z.string() })
        .parse(await ask("/_token", { subject: `${subject}-${run}` }));
      const client = new ConvexHttpClient(api);
      client.setAuth(token);
      return {
        query: (name, args = {}) => client.query(makeFunctionReference<"query">(name), args),
        mutation: (name, args = {}) => client.mutation(makeFunctionReference<"mutation">(name), args),
        action: (name, args = {}) => client.action(makeFunctionReference<"action">(name), args),
        service: serviceWith({ Authorization: `Bearer ${token}` }),
      };
    },
    now: () => Date.now(),
    proxy: () => ({ file: proxy, serviceUrl: site }),
    advance: absent,
    outage: absent,
    configure: absent,
    setPrices: absent,
    from: absent,
    socialSecret: absent,
  };
}

/** The longest wait of a client for a `Retry-After`. */
const PATIENCE_SECONDS = 300;

/** A client that honours `Retry-After`. */
function patiently(exchange: ReturnType<typeof overHttp>): ReturnType<typeof overHttp> {
  return async (method, path, init) => {
    const got = await exchange(method, path, init);
    const seconds = Number(got.headers.get("retry-after") ?? "");
    if (got.status !== 429 || !(seconds > 0 && seconds <= PATIENCE_SECONDS)) return got;
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
    return exchange(method, path, init);
  };
}

await command({ usage: USAGE, flags: FLAGS, most: 1 }, async ({ values, positionals: [url] }) => {
  if (url !== undefined && !URL.canParse(url)) throw new Misuse("Name one address of a deployment");
  const world = worldAt(url ?? null, values);
  const outcomes: Outcome[] = [];
  for (const row of contract.filter(({ id }) => id.includes(values.only))) {
    const outcome = await checkRow(row, world);
    outcomes.push(outcome);
    if (url === undefined) await world.control({ clear: true });
    console.log(formatRow(outcome));
  }
  const count = (which: Outcome["outcome"]) => outcomes.filter(({ outcome }) => outcome === which).length;
  console.log(`\n${count("holds")} rows hold, ${count("differs")} differ, ${count("skipped")} were skipped`);
  return count("differs") > 0 ? 1 : 0;
});
