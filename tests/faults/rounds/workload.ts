import type { Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import * as z from "zod";
import { TOKENS } from "../../../scripts/chain/addresses";
import type { Random } from "../../../scripts/standins/random";
import type { Answer, Host } from "./host";
import { authorize, versionTwo } from "../../payments/authorizations";
import { transferTo } from "../../chain/support";

/** What people ask of the service in a round, and go on asking until they have an answer. */

type Asked = {
  name: string;
  path: string;
  body: object;
  headers: Record<string, string>;
  /** The network address of who asks. */
  ip: string;
  at: number;
  answers: Answer[];
};

type Move = {
  kind: "send" | "swap";
  userId: string;
  key: string;
  token: string;
  amount: bigint;
  to: Hex;
};

export type Workload = {
  asked: Asked[];
  moves: Move[];
  wallets: { userId: string; address: Hex; usdc: bigint }[];
  deposits: { txHash: Hex; amount: bigint }[];
  payers: { address: Hex; before: bigint }[];
  depositor: string;
  shifts: number;
  /** When the last of it has had all its time. */
  until: number;
};

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const USDC = 1_000_000n;
const ETHER = 10n ** 18n;
const hex = z.custom<Hex>((value) => typeof value === "string" && value.startsWith("0x"));

export async function prepare(host: Host, chance: Random, id: string): Promise<Workload> {
  const { chain } = host;
  // Everybody asks from a place of their own.
  const homes: string[] = [];
  const homeOf = (who: string) => {
    if (!homes.includes(who)) homes.push(who);
    return `198.51.100.${homes.indexOf(who)}`;
  };
  const ask = async (path: string, body: { userId: string; messengerChatId?: string }) =>
    (await host.during(host.post(path, body, { ip: homeOf(body.userId) }))).body;
  const asked: Asked[] = [];
  const start = host.now();
  const sometime = (latest: number) => start + chance.whole(1, latest);
  const add = (
    name: string,
    path: string,
    body: object,
    headers: Record<string, string> = {},
    latest = 45 * MINUTE,
  ) => {
    const at = sometime(latest);
    const ip = homeOf("userId" in body ? String(body.userId) : name);
    asked.push({ name, path, body, headers, ip, at, answers: [] });
    // Impatient people ask twice.
    if (chance.between(0, 1) < 0.3)
      asked.push({ name, path, body, headers, ip, at: at + chance.whole(0, 40_000), answers: [] });
  };

  const wallets: Workload["wallets"] = [];
  const moves: Move[] = [];
  for (const name of ["alice", "bob"]) {
    const userId = `${name}-of-${id}`;
    const { address } = await ask("/mcp/defi/connect", { userId });
    await ask("/user/messenger", { userId, messengerChatId: name === "alice" ? "1001" : "1002" });
    const usdc = 40n * USDC;
    await chain.fund(hex.parse(address), { ETH: ETHER, USDC: usdc });
    wallets.push({ userId, address: hex.parse(address), usdc });
    for (let i = 0; i < 3; i++) {
      const kind = chance.between(0, 1) < 0.4 ? ("swap" as const) : ("send" as const);
      const token = kind === "swap" ? "USDC" : chance.pick(["USDC", "ETH"]);
      const amount = BigInt(chance.whole(1, 3_000_000));
      const to = privateKeyToAccount(generatePrivateKey()).address;
      const key = `${userId}-${i}`;
      moves.push({ kind, userId, key, token, amount, to });
      const shared = { userId, amount: String(amount) };
      const headers = { "Idempotency-Key": key };
      if (kind === "send") add(key, "/mcp/defi/send", { ...shared, token, toAddress: to }, headers);
      else add(key, "/mcp/defi/swap", { ...shared, fromToken: "USDC", toToken: "DAI" }, headers);
    }
  }

  const depositor = `dave-of-${id}`;
  const { address: paying } = await ask("/mcp/wallet/create", { userId: depositor });
  await chain.fund(hex.parse(paying), { ETH: ETHER, USDC: 50n * USDC });
  const deposits: Workload["deposits"] = [];
  for (let i = 0; i < 2; i++) {
    const amount = BigInt(chance.whole(1_000_000, 9_000_000));
    const txHash = await pays(host, hex.parse(paying), amount);
    deposits.push({ txHash, amount });
    add(`deposit ${i}`, "/indexer/deposit", { txHash });
  }

  const payers: Workload["payers"] = [];
  const order = { userId: `carol-of-${id}`, token: chance.pick(["BTC", "ETH"]) };
  for (const kind of ["hash", "authorization"] as const) {
    const account = privateKeyToAccount(generatePrivateKey());
    await chain.fund(account.address, { ETH: ETHER, USDC: 2n * USDC });
    const validBefore = BigInt(Math.floor(start / 1_000) + 86_400);
    const headers: Record<string, string> =
      kind === "hash"
        ? { "X-PAYMENT": await pays(host, account.address, USDC) }
        : versionTwo(await authorize(account, { validBefore }));
    payers.push({ address: account.address, before: 2n * USDC });
    // A transfer that anybody can read from the chain buys a report for an hour.
    add(`paid by ${kind}`, "/agent/research/paid", order, headers, 10 * MINUTE);
  }

  const shifts = chance.between(0, 1) < 0.2 ? chance.whole(1, 2) : 0;
  for (let i = 0; i < shifts; i++) {
    const userId = wallets[i % 2]?.userId;
    add(
      `shift ${i}`,
      "/mcp/research/start",
      { userId, token: chance.pick(["BTC", "SOL"]) },
      { "Idempotency-Key": `shift-${i}` },
    );
  }
  asked.sort((one, other) => one.at - other.at);
  return {
    asked,
    moves,
    wallets,
    deposits,
    payers,
    depositor,
    shifts,
    until: start + (shifts > 0 ? 9.5 : 1.6) * HOUR,
  };
}

/** A transfer of USDC to the platform wallet, mined. */
async function pays({ chain }: Host, from: Hex, amount: bigint): Promise<Hex> {
  const platform = hex.parse(chain.accounts[1]);
  const data = transferTo(platform, amount);
  await chain.rpc("anvil_impersonateAccount", [from]);
  const hash = hex.parse(
    await chain.rpc("eth_sendTransaction", [{ from, to: TOKENS.USDC, data, gas: "0x30d40" }]),
  );
  await chain.miner.mine();
  return hash;
}

/** Asks everything at its time, again after a death where no answer came. */
export async function play(
  host: Host,
  { asked, until }: Workload,
  chance: Random,
  plan: { deaths: number; arm: () => void },
): Promise<void> {
  const open = new Set<Asked>();
  /** In the order they are due. */
  const due = asked.map((one) => ({ one, at: one.at }));
  const submit = (one: Asked) => {
    open.add(one);
    const { path, body, headers, ip } = one;
    host.post(path, body, { headers, ip }).then(
      (answer) => {
        one.answers.push(answer);
        open.delete(one);
        // Whoever is told to come back comes back.
        if (answer.status < 500 && answer.againMs === null) return;
        due.push({ one, at: host.now() + (answer.againMs ?? chance.whole(1, 10) * MINUTE) });
        due.sort((a, b) => a.at - b.at);
      },
      () => undefined,
    );
  };
  host.reborn(() => {
    if (host.remains.length < plan.deaths) plan.arm();
    for (const one of [...open]) submit(one);
  });
  const pass = async (end: number) => {
    while (host.now() < end) {
      await host.pass(Math.min(end, host.now() + MINUTE, due[0]?.at ?? end));
      while (due[0] !== undefined && due[0].at <= host.now()) {
        const next = due.shift();
        if (next !== undefined) submit(next.one);
      }
    }
  };
  await pass(until);
  host.disarm();
  for (let round = 0; round < 6; round++) {
    const unhappy = asked.filter(({ answers }) => {
      const { status } = answers.at(-1) ?? { status: 599 };
      return status >= 500 || status === 402 || status === 429;
    });
    if (unhappy.length === 0 && open.size === 0) break;
    const waiting = new Set(due.map(({ one }) => one));
    for (const one of unhappy) if (!waiting.has(one)) submit(one);
    await pass(host.now() + chance.whole(2, 10) * MINUTE);
  }
}
