import { serializeErc6492Signature, type Address, type Hex } from "viem";
import { gzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/platform/outside/deadlines";
import { buildProofText } from "../../convex/payments/proofs";
import { send as sendOn } from "../chain/support";
import { ETHER, chain, etherOf, hex, holdingsOf, useChain } from "../support/chain/chain";
import { answering, type RpcAnswer } from "../support/chain/rpc";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { madeUpReceipt, timePassing, useTime } from "../invariants/harness";
import {
  authorize,
  buy,
  buyWith,
  ONE,
  PLATFORM,
  payer,
  received,
  settlementCall,
  test,
  transfer,
  versionOne,
  versionTwo,
  withFacilitator,
  type Authorized,
} from "../payments/payer";

/**
 * How nodes, wallets, facilitators and indexers in the wild treat money, as reported in public. Each kind of report is
 * one world, in which each of its cases has a user or a payer of its own.
 */

useChain();
useTime();

/** Code that says of every signature that it is good (ERC-1271). */
const VOUCHES = "0x631626ba7e60e01b5f5260205ff3";

const calls = z.array(z.looseObject({ id: z.number() }));
const failing = (body: string, error: object) =>
  Response.json(calls.parse(JSON.parse(body)).map(({ id }) => ({ jsonrpc: "2.0", id, error })));

const send = (app: WalletApp, userId: string, fields: object = {}) =>
  app.post("/mcp/defi/send", { userId, token: "ETH", amount: "5", ...fields });
/** A user's send of ether, whatever its node does. */
async function arrives(app: WalletApp, userId: string): Promise<void> {
  const toAddress = freshAddress();
  expect([userId, (await send(app, userId, { toAddress })).body.status]).toEqual([userId, "confirmed"]);
  expect(await etherOf(toAddress)).toBe(5n);
}
/** What a purchase moves, and the status and reason of its answer. */
async function bought(app: WalletApp, proof: Record<string, string>) {
  let told: unknown[] = [];
  const moved = await received(async () => {
    const { status, body } = await buy(app, proof);
    told = [status, body.reason];
  });
  return [...told, moved];
}
const GOOD = [200, undefined, ONE];

/** What a node in trouble answers (wevm/viem #3680, #3873, #4440). */
const TROUBLES: Record<string, (body: string) => Promise<Response>> = {
  "says 429 in each answer": (body) => Promise.resolve(failing(body, { code: 429, message: "slow down" })),
  "throttles in words": (body) =>
    Promise.resolve(failing(body, { code: -32_016, message: "over rate limit" })),
  "answers with status 429": () => Promise.resolve(new Response("", { status: 429 })),
  "answers with status 503": () => Promise.resolve(new Response("no upstream", { status: 503 })),
  "answers with a page": () => Promise.resolve(new Response("<html>Just a moment…</html>")),
  "breaks the connection": () => Promise.reject(new TypeError("terminated")),
};

test("once money may have moved, no trouble of a node ends the wait", async ({ app }) => {
  /** The node has this trouble for its next seven requests after each transaction that it took. */
  let trouble: (body: string) => Promise<Response> = () => Promise.reject(new Error("There is none"));
  let left = 0;
  const end = intercept(async ({ body }, pass) => {
    if (!body.includes('"jsonrpc"')) return pass();
    if (left > 0) {
      left--;
      return trouble(body);
    }
    if (body.includes("eth_sendRawTransaction")) left = 7;
    return pass();
  });
  for (const [i, [name, answer]] of Object.entries(TROUBLES).entries()) {
    left = 0;
    trouble = answer;
    await app.fundedWallet(name, { ETH: ETHER, USDC: 5n * ONE });
    // The approval's receipt, and the swap's.
    const swap = { userId: name, fromToken: "USDC", toToken: "WETH", amount: String(ONE) };
    expect([name, (await app.post("/mcp/defi/swap", swap)).body.status]).toEqual([name, "confirmed"]);
    expect([name, (await holdingsOf(app, name)).USDC]).toEqual([name, 4n * ONE]);
    left = 0;
    // A payment's transaction is a row like any other: every second trouble meets one.
    if (i % 2 === 1) continue;
    const proof = versionTwo(await authorize(await payer(chain)));
    expect([name, ...(await bought(app, proof))]).toEqual([name, ...GOOD]);
  }
  end();
});

/** hemilabs/heminetwork #887; wevm/viem #3680; ethereum/go-ethereum #23479. */
test("a node that takes no long batch, throttles an entry or suggests no tip carries out a send", async ({
  app,
}) => {
  for (const user of ["long", "throttled", "no tip"]) await app.fundedWallet(user, { ETH: ETHER });
  const longest = intercept(({ body }, pass) => {
    if (!body.startsWith("[") || calls.parse(JSON.parse(body)).length <= 3) return pass();
    const error = { code: -32600, message: "batch too large" };
    return Promise.resolve(Response.json({ jsonrpc: "2.0", id: null, error }));
  });
  await arrives(app, "long");
  longest();
  let asked = 0;
  const throttling = intercept(async ({ body }, pass) => {
    if (!body.startsWith("[") || ++asked % 2 === 0) return pass();
    const answers = calls.parse(await (await pass()).json());
    const error = { code: -32005, message: "Too many requests" };
    return Response.json(answers.map(({ id }, i) => (i === 0 ? { jsonrpc: "2.0", id, error } : answers[i])));
  });
  await arrives(app, "throttled");
  throttling();
  const message = "the method eth_maxPriorityFeePerGas does not exist";
  answering(({ method }) =>
    method === "eth_maxPriorityFeePerGas" ? { error: { code: -32601, message } } : null,
  );
  await arrives(app, "no tip");
});

/** A facilitator that carries out a payment on chain, and answers what `answer` is then. */
function paying() {
  const next = { authorized: [] as Authorized[], answer: () => Promise.resolve(Response.json({})) };
  const app = withFacilitator(async () => {
    for (const one of next.authorized.splice(0)) await sendOn(chain, await payer(chain), settlementCall(one));
    return next.answer();
  });
  return { app, next };
}

/** What a facilitator that has paid may answer (x402 #1062, #2294). */
test("a facilitator's word decides nothing", async () => {
  const ANSWERS: Record<string, () => Promise<Response>> = {
    "is lost": () => Promise.reject(new TypeError("terminated")),
    "has status 500": () => Promise.resolve(Response.json({}, { status: 500 })),
    "says that it has not paid": () =>
      Promise.resolve(Response.json({ success: false, errorReason: "nonce_already_used" })),
    "names another transaction": () =>
      Promise.resolve(Response.json({ success: true, transaction: `0x${"0".repeat(64)}` })),
    "names none": () => Promise.resolve(Response.json({ success: true })),
  };
  const { app, next } = paying();
  for (const [name, answer] of Object.entries(ANSWERS)) {
    const authorized = await authorize(await payer(chain));
    Object.assign(next, { authorized: [authorized], answer });
    expect([name, ...(await bought(app, versionTwo(authorized)))]).toEqual([name, ...GOOD]);
  }
});

/** Pre-confirmed receipts (Base's flashblocks): of a block that nobody has, and that may never be. */
test("a receipt of a block that the chain does not have decides nothing", async ({ app }) => {
  const RECEIPTS: Record<string, [above: number, status: string]> = {
    "above the head, mined": [1, "0x1"],
    "above the head, failed": [1, "0x0"],
    "of a fork, mined": [0, "0x1"],
    "of a fork, failed": [0, "0x0"],
  };
  const pass = timePassing(app);
  deadlines.receipt = 300;
  for (const name of Object.keys(RECEIPTS)) await app.fundedWallet(name, { ETH: ETHER });
  await chain.miner.pause();
  const head = Number(hex.parse(await chain.rpc("eth_blockNumber", [])));
  const told = new Map<unknown, RpcAnswer>();
  let lie: [number, string] = [0, "0x1"];
  const honest = answering(({ method, params: [hash] }) => {
    if (method !== "eth_getTransactionReceipt") return null;
    const answer = told.get(hash) ?? { result: madeUpReceipt(hash, head + lie[0], lie[1]) };
    told.set(hash, answer);
    return answer;
  });
  const sent: { name: string; to: Address; txHash: string }[] = [];
  for (const [name, receipt] of Object.entries(RECEIPTS)) {
    lie = receipt;
    const to = freshAddress();
    const { body } = await send(app, name, { toAddress: to });
    expect([name, body.success, body.status]).toEqual([name, true, "submitted"]);
    sent.push({ name, to, txHash: String(body.txHash) });
  }
  const look = async (userId: string, txHash: string) =>
    (await app.get(`/mcp/defi/transaction?${String(new URLSearchParams({ userId, txHash }))}`)).body.status;
  await pass(1);
  for (const { name, txHash } of sent) expect([name, await look(name, txHash)]).toEqual([name, "submitted"]);
  honest();
  chain.miner.resume();
  await pass(4);
  for (const { name, to, txHash } of sent)
    expect([name, await look(name, txHash), await etherOf(to)]).toEqual([name, "confirmed", 5n]);
});

/** scaffold-eth-2 #1110, nucypher #3647, infura #237, risc0 #656. */
test("a node that searches few blocks at once, both ends counted, and says so in its own words, is asked for fewer", async () => {
  const LIMITS = [
    [10, "You can make eth_getLogs requests with up to a 10 block range."],
    [3, "query exceeds max block range 3"],
    [1, "eth_getLogs is limited to a 1 range"],
  ] as const;
  const blocks = z.looseObject({ fromBlock: hex, toBlock: hex });
  const { app, next } = paying();
  next.answer = () => Promise.resolve(Response.json({ success: true }));
  for (const [i, [most, message]] of LIMITS.entries()) {
    const end = answering(({ method, params }) => {
      if (method !== "eth_getLogs") return null;
      const { fromBlock, toBlock } = blocks.parse(params[0]);
      const asked = Number(toBlock) - Number(fromBlock) + 1;
      return asked <= most ? null : { error: { code: -32_600, message } };
    });
    // What a payment and a deposit read is cut in the same pieces.
    if (i === 0) {
      const authorized = await authorize(await payer(chain));
      next.authorized = [authorized];
      expect([message, ...(await bought(app, versionTwo(authorized)))]).toEqual([message, ...GOOD]);
    }
    await deposits(app, message, 2, (txHash) => timePassing(app)(2).then(() => txHash));
    end();
  }
});

/** A user deposits USDC, of which `work` is told; then its hash says what was credited. */
async function deposits(
  app: WalletApp,
  userId: string,
  usdc: number,
  work: (txHash: string) => Promise<unknown>,
): Promise<void> {
  const amount = BigInt(usdc) * ONE;
  await app.fundedWallet(userId, { ETH: ETHER, USDC: amount });
  const order = { toAddress: PLATFORM, token: "USDC", amount: String(amount) };
  const { status, txHash } = (await send(app, userId, order)).body;
  expect([userId, status]).toEqual([userId, "confirmed"]);
  await work(String(txHash));
  const { body } = await app.post("/indexer/deposit", { txHash });
  expect([userId, body.credited]).toMatchObject([userId, [{ txHash, credits: 100 * usdc }]]);
}

/** lightning #3937, tracecat #1289. */
test("a webhook's body, packed, of another kind or with a damaged row, only says: look now", async ({
  app,
}) => {
  const BODIES: [string, BodyInit, Record<string, string>][] = [
    ["packed", gzipSync(JSON.stringify({ activity: [] })), { "Content-Encoding": "gzip" }],
    ["of another kind", "<xml/>", {}],
    ["with a damaged row", '{"activity":[{"hash":7},null]}', {}],
  ];
  for (const [name, body, headers] of BODIES)
    await deposits(app, name, 3, async () => {
      await app.call("POST", "/indexer/deposit", { body, headers });
      await timePassing(app)(2);
    });
});

/** x402 #2110, #623, PR #2352; eth-permit #16; app-ethereum #1109. */
describe("a good signature in another form is good:", () => {
  /** What would deploy the wallet is never run: it would revert. */
  const wrapped = (signature: Hex): Hex =>
    serializeErc6492Signature({ address: `0x${"fa".repeat(20)}`, data: "0xdeadbeef", signature });
  const zeroOrOne = (signature: Hex): Hex =>
    `0x${signature.slice(2, -2)}${signature.endsWith("1b") ? "00" : "01"}`;
  /** ERC-2098. */
  const compact = (signature: Hex): Hex => {
    const top = signature.endsWith("1c") ? 0x80 : 0;
    const first = (Number.parseInt(signature.slice(66, 68), 16) | top).toString(16).padStart(2, "0");
    return `0x${signature.slice(2, 66)}${first}${signature.slice(68, 130)}`;
  };
  const as = (one: Authorized, signature: Hex, from = one.payload.authorization.from): Authorized => ({
    ...one,
    payload: { signature, authorization: { ...one.payload.authorization, from } },
  });

  test("a key's, in a payment and under a hash", async ({ app }) => {
    const FORMS: Record<string, (one: Hex) => Hex> = {
      "v of 0 and 1": zeroOrOne,
      compact,
      "in capitals": (one) => `0x${one.slice(2).toUpperCase()}`,
      // What it would deploy is never run.
      "in the wrapper of a wallet that has no code": wrapped,
    };
    for (const [form, change] of Object.entries(FORMS)) {
      const one = await authorize(await payer(chain));
      expect([form, ...(await bought(app, versionOne(as(one, change(one.signature)))))]).toEqual([
        form,
        ...GOOD,
      ]);
    }
    for (const change of [zeroOrOne, compact]) {
      const from = await payer(chain);
      const txHash = await transfer(chain, from);
      const text = buildProofText(txHash, PLATFORM, { userId: "alice", focus: "BTC" });
      const signature = change(await from.signMessage({ message: text }));
      const proof = JSON.stringify({ txHash, signature });
      expect((await buyWith(app, proof, { userId: "alice", token: "BTC" })).status).toBe(200);
    }
  });

  test("a deployed smart wallet's, of any length, wrapped or not", async ({ app }) => {
    for (const plain of [`0x${"5a".repeat(65)}`, `0x${"5a".repeat(600)}`] as const)
      for (const signature of [plain, wrapped(plain)]) {
        const wallet = freshAddress();
        await chain.rpc("anvil_setCode", [wallet, VOUCHES]);
        await chain.fund(wallet, { USDC: 5n * ONE });
        const one = as(await authorize(await payer(chain)), signature, wallet);
        expect([signature, ...(await bought(app, versionTwo(one)))]).toEqual([signature, ...GOOD]);
      }
  });
});

/** Petix #43, across sdk #1074. */
test("an account with a delegate (EIP-7702) is a person's, and is sent ether and USDC", async ({ app }) => {
  const DELEGATES = {
    "answers every call": "0x600160005260206000f3",
    "answers with nothing": "0x00",
    "has no code": "0x",
    "vouches for its signatures": VOUCHES,
  };
  await app.fundedWallet("alice", { ETH: ETHER, USDC: 5n * ONE });
  for (const [does, code] of Object.entries(DELEGATES)) {
    const delegate = freshAddress();
    await chain.rpc("anvil_setCode", [delegate, code]);
    const person = await payer(chain);
    await chain.rpc("anvil_setCode", [person.address, `0xef0100${delegate.slice(2)}`]);
    for (const token of ["ETH", "USDC"]) {
      const { status } = (await send(app, "alice", { toAddress: person.address, token })).body;
      expect([does, token, status]).toEqual([does, token, "confirmed"]);
    }
    // USDC asks the delegate about signatures (ERC-1271).
    const { status } = await buy(app, versionTwo(await authorize(person)));
    expect([does, status]).toEqual([does, code === VOUCHES ? 200 : 402]);
  }
});
