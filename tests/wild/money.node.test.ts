import { serializeErc6492Signature, type Address, type Hex } from "viem";
import { gzipSync } from "node:zlib";
import { describe, expect } from "vitest";
import * as z from "zod";
import { deadlines } from "../../convex/lib/outside/deadlines";
import { proofText } from "../../convex/payments/proofs";
import { send as sendOn } from "../chain/support";
import { ETHER, chain, etherOf, hex, holdingsOf, useChain } from "../support/chain/chain";
import { answering, type RpcAnswer, type RpcAsked } from "../support/chain/rpc";
import { freshAddress, type WalletApp } from "../support/chain/walletApp";
import { intercept } from "../support/outside";
import { timePassing, useTime } from "../invariants/harness";
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

/** How nodes, wallets, facilitators and indexers in the wild treat money, as reported in public. */

useChain();
useTime();

/** Code that says of every signature that it is good (ERC-1271). */
const VOUCHES = "0x631626ba7e60e01b5f5260205ff3";

const calls = z.array(z.looseObject({ id: z.number() }));
const failing = (body: string, error: object) =>
  Response.json(calls.parse(JSON.parse(body)).map(({ id }) => ({ jsonrpc: "2.0", id, error })));

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

/** The node has this trouble for its next `times` requests after each transaction that it took. */
function inTroubleOnceSent(trouble: (body: string) => Promise<Response>, times = 7): void {
  let left = 0;
  intercept(async ({ body }, pass) => {
    if (!body.includes('"jsonrpc"')) return pass();
    if (left > 0) {
      left--;
      return trouble(body);
    }
    if (body.includes("eth_sendRawTransaction")) left = times;
    return pass();
  });
}

const send = (app: WalletApp, fields: object = {}) =>
  app.post("/mcp/defi/send", { userId: "alice", token: "ETH", amount: "5", ...fields });

describe("once money may have moved, no trouble of a node ends the wait: one that", () => {
  test.for(Object.entries(TROUBLES))("%s", async ([, trouble], { app }) => {
    await app.fundedWallet("alice", { ETH: ETHER, USDC: 5n * ONE });
    const from = await payer(chain);
    const proof = versionTwo(await authorize(from));
    inTroubleOnceSent(trouble);
    const to = freshAddress();
    expect((await send(app, { toAddress: to })).body.status).toBe("confirmed");
    expect(await etherOf(to)).toBe(5n);
    // The approval's receipt, and the swap's.
    const swap = { userId: "alice", fromToken: "USDC", toToken: "WETH", amount: String(ONE) };
    expect((await app.post("/mcp/defi/swap", swap)).body.status).toBe("confirmed");
    const moved = await received(async () => expect((await buy(app, proof)).status).toBe(200));
    expect([moved, (await holdingsOf(app)).USDC]).toEqual([ONE, 4n * ONE]);
  });
});

/** What a facilitator that has paid may answer (x402 #1062, #2294). */
describe("a facilitator's word decides nothing: one that has paid, and", () => {
  const ANSWERS: Record<string, () => Promise<Response>> = {
    "whose answer is lost": () => Promise.reject(new TypeError("terminated")),
    "answers with status 500": () => Promise.resolve(Response.json({}, { status: 500 })),
    "says that it has not": () =>
      Promise.resolve(Response.json({ success: false, errorReason: "nonce_already_used" })),
    "names another transaction": () =>
      Promise.resolve(Response.json({ success: true, transaction: `0x${"0".repeat(64)}` })),
    "names none": () => Promise.resolve(Response.json({ success: true })),
  };
  test.for(Object.entries(ANSWERS))("%s", async ([, answer]) => {
    const authorized = await authorize(await payer(chain));
    const gas = await payer(chain);
    const app = withFacilitator(async () => {
      await sendOn(chain, gas, settlementCall(authorized));
      return answer();
    });
    const moved = await received(async () => {
      expect((await buy(app, versionTwo(authorized))).status).toBe(200);
    });
    expect(moved).toBe(ONE);
  });
});

/** Pre-confirmed receipts (Base's flashblocks): of a block that nobody has, and that may never be. */
describe("a receipt of a block that the chain does not have decides nothing:", () => {
  test.for([
    ["above the head, mined", 1, "0x1"],
    ["above the head, failed", 1, "0x0"],
    ["of a fork, mined", 0, "0x1"],
    ["of a fork, failed", 0, "0x0"],
  ] as const)("%s", async ([, above, status], { app }) => {
    const pass = timePassing(app);
    deadlines.receipt = 300;
    await app.fundedWallet("alice", { ETH: ETHER });
    await chain.miner.pause();
    const head = Number(hex.parse(await chain.rpc("eth_blockNumber", [])));
    const honest = answering(({ method, params }) =>
      method === "eth_getTransactionReceipt" ? { result: early(params[0], head + above, status) } : null,
    );
    const to = freshAddress();
    const { body } = await send(app, { toAddress: to });
    expect(body).toMatchObject({ success: true, status: "submitted" });
    const look = () => app.get(`/mcp/defi/transaction?userId=alice&txHash=${String(body.txHash)}`);
    await pass(1);
    expect((await look()).body.status).toBe("submitted");
    honest();
    chain.miner.resume();
    await pass(4);
    expect([(await look()).body.status, await etherOf(to)]).toEqual(["confirmed", 5n]);
  });
});

const early = (transactionHash: unknown, block: number, status: string) => ({
  transactionHash,
  transactionIndex: "0x0",
  blockHash: `0x${"ab".repeat(32)}`,
  blockNumber: `0x${block.toString(16)}`,
  from: `0x${"a1".repeat(20)}`,
  to: null,
  contractAddress: null,
  cumulativeGasUsed: "0x5208",
  gasUsed: "0x5208",
  effectiveGasPrice: "0x1",
  logsBloom: `0x${"0".repeat(512)}`,
  type: "0x2",
  status,
  logs: [],
});

/** A node that answers for so many blocks at once, both ends counted, and says so in its own words. */
function allowing(most: number, message: string): void {
  const blocks = z.looseObject({ fromBlock: hex, toBlock: hex });
  answering(({ method, params }: RpcAsked): RpcAnswer | null => {
    if (method !== "eth_getLogs") return null;
    const { fromBlock, toBlock } = blocks.parse(params[0]);
    const asked = Number(toBlock) - Number(fromBlock) + 1;
    return asked <= most ? null : { error: { code: -32_600, message } };
  });
}

/** scaffold-eth-2 #1110, nucypher #3647, infura #237, risc0 #656. */
describe("a node that searches few blocks at once:", () => {
  test.for([
    [10, "You can make eth_getLogs requests with up to a 10 block range."],
    [3, "query exceeds max block range 3"],
    [1, "eth_getLogs is limited to a 1 range"],
  ] as const)("%s", async ([most, words]) => {
    const authorized = await authorize(await payer(chain));
    const gas = await payer(chain);
    const app = withFacilitator(async () => {
      await sendOn(chain, gas, settlementCall(authorized));
      return Response.json({ success: true });
    });
    allowing(most, words);
    const moved = await received(async () => {
      expect((await buy(app, versionTwo(authorized))).status).toBe(200);
    });
    expect(moved).toBe(ONE);
    // A deposit that no webhook names.
    const address = await app.fundedWallet("alice", { ETH: ETHER, USDC: 2n * ONE });
    const { body: order } = await send(app, { toAddress: PLATFORM, token: "USDC", amount: String(2n * ONE) });
    expect([order.status, address]).toEqual(["confirmed", expect.any(String)]);
    await timePassing(app)(2);
    const { body } = await app.post("/indexer/deposit", { txHash: order.txHash });
    expect(body.credited).toMatchObject([{ txHash: order.txHash, credits: 200 }]);
  });
});

/** x402 #2110, #623, PR #2352; eth-permit #16; app-ethereum #1109. */
describe("a good signature in another form is good:", () => {
  /** A deployed smart wallet that vouches for every signature (ERC-1271). */
  async function smartWallet(): Promise<Address> {
    const address = freshAddress();
    await chain.rpc("anvil_setCode", [address, VOUCHES]);
    await chain.fund(address, { USDC: 5n * ONE });
    return address;
  }
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
  const as = (one: Authorized, signature: Hex, from?: Address): Authorized => ({
    ...one,
    payload: {
      signature,
      authorization: { ...one.payload.authorization, ...(from === undefined ? {} : { from }) },
    },
  });

  test.for([
    ["v of 0 and 1", zeroOrOne],
    ["compact", compact],
    ["in capitals", (one: Hex): Hex => `0x${one.slice(2).toUpperCase()}`],
    ["in the wrapper of a wallet that has no code", wrapped],
  ] as const)("a key's, %s", async ([form, change], { app }) => {
    const one = await authorize(await payer(chain));
    const moved = await received(async () => {
      const { status, body } = await buy(app, versionOne(as(one, change(one.signature))));
      // Only the chain's own contract could check what is to be deployed first.
      const good = form !== "in the wrapper of a wallet that has no code";
      expect([status, body.reason]).toEqual(
        good ? [200, undefined] : [402, "invalid_exact_evm_payload_signature"],
      );
    });
    expect(moved).toBe(form.startsWith("in the wrapper") ? 0n : ONE);
  });

  test.for([
    ["plain", `0x${"5a".repeat(65)}`],
    ["long", `0x${"5a".repeat(600)}`],
    ["wrapped", wrapped(`0x${"5a".repeat(65)}`)],
    ["long and wrapped", wrapped(`0x${"5a".repeat(600)}`)],
  ] as const)("a deployed smart wallet's, %s", async ([, signature], { app }) => {
    const wallet = await smartWallet();
    const one = as(await authorize(await payer(chain)), signature, wallet);
    const moved = await received(async () => {
      const { status, body } = await buy(app, versionTwo(one));
      expect([status, body.reason]).toEqual([200, undefined]);
    });
    expect(moved).toBe(ONE);
  });

  test.for([
    ["v of 0 and 1", zeroOrOne],
    ["compact", compact],
  ] as const)("under a hash, %s", async ([, change], { app }) => {
    const from = await payer(chain);
    const txHash = await transfer(chain, from);
    const text = proofText(txHash, PLATFORM, { userId: "alice", focus: "BTC" });
    const signature = change(await from.signMessage({ message: text }));
    const proof = JSON.stringify({ txHash, signature });
    expect((await buyWith(app, proof, { userId: "alice", token: "BTC" })).status).toBe(200);
  });
});

/** lightning #3937, tracecat #1289. */
test.for([
  ["packed", gzipSync(JSON.stringify({ activity: [] })), { "Content-Encoding": "gzip" }],
  ["of another kind", new TextEncoder().encode("<xml/>"), {}],
  ["with a damaged row", new TextEncoder().encode('{"activity":[{"hash":7},null]}'), {}],
] as const)("a webhook's body that is %s only says: look now", async ([, body, headers], { app }) => {
  await app.fundedWallet("alice", { ETH: ETHER, USDC: 3n * ONE });
  const { body: order } = await send(app, { toAddress: PLATFORM, token: "USDC", amount: String(3n * ONE) });
  await app.call("POST", "/indexer/deposit", { body, headers });
  await timePassing(app)(2);
  const told = await app.post("/indexer/deposit", { txHash: order.txHash });
  expect(told.body.credited).toMatchObject([{ credits: 300 }]);
});

/** Petix #43, across sdk #1074. */
describe("an account with a delegate (EIP-7702) is a person's:", () => {
  test.for([
    ["answers every call", "0x600160005260206000f3"],
    ["answers with nothing", "0x00"],
    ["has no code", "0x"],
    ["vouches for its signatures", VOUCHES],
  ] as const)("one whose delegate %s is sent ether and USDC", async ([, code], { app }) => {
    await app.fundedWallet("alice", { ETH: ETHER, USDC: 5n * ONE });
    const delegate = freshAddress();
    await chain.rpc("anvil_setCode", [delegate, code]);
    const person = await payer(chain);
    await chain.rpc("anvil_setCode", [person.address, `0xef0100${delegate.slice(2)}`]);
    for (const token of ["ETH", "USDC"])
      expect((await send(app, { toAddress: person.address, token })).body.status).toBe("confirmed");
    // USDC asks the delegate about signatures (ERC-1271).
    const { status } = await buy(app, versionTwo(await authorize(person)));
    expect(status).toBe(code === VOUCHES ? 200 : 402);
  });
});
