import { expect } from "vitest";
import * as z from "zod";
import { ETHER, etherOf, useChain, test } from "../support/chain/chain";
import { answering } from "../support/chain/rpc";
import { freshAddress } from "../support/chain/walletApp";
import { intercept } from "../support/outside";

/** How nodes in the wild take batches, as reported in public. */

useChain();

const batch = z.array(z.looseObject({ id: z.number() }));

/** A node that refuses more than three requests at once (hemilabs/heminetwork #887). */
test("a node that takes no long batch carries out a send all the same", async ({ app }) => {
  await app.fundedWallet("alice", { ETH: ETHER });
  intercept(({ body }, pass) => {
    if (!body.startsWith("[") || batch.parse(JSON.parse(body)).length <= 3) return pass();
    const error = { code: -32600, message: "batch too large" };
    return Promise.resolve(Response.json({ jsonrpc: "2.0", id: null, error }));
  });
  const to = freshAddress();
  const order = { userId: "alice", toAddress: to, token: "ETH", amount: "5" };
  expect((await app.post("/mcp/defi/send", order)).body.status).toBe("confirmed");
  expect(await etherOf(to)).toBe(5n);
});

/** A node that throttles single entries of a batch (wevm/viem #3680). */
test("an entry that is throttled is asked again", async ({ app }) => {
  await app.fundedWallet("alice", { ETH: ETHER });
  let asked = 0;
  intercept(async ({ body }, pass) => {
    if (!body.startsWith("[") || ++asked % 2 === 0) return pass();
    const answers = batch.parse(await (await pass()).json());
    const error = { code: -32005, message: "Too many requests" };
    return Response.json(answers.map(({ id }, i) => (i === 0 ? { jsonrpc: "2.0", id, error } : answers[i])));
  });
  const to = freshAddress();
  const order = { userId: "alice", toAddress: to, token: "ETH", amount: "5" };
  expect((await app.post("/mcp/defi/send", order)).body.status).toBe("confirmed");
  expect(await etherOf(to)).toBe(5n);
});

/** A node without `eth_maxPriorityFeePerGas` (ethereum/go-ethereum #23479). */
test("a node that suggests no tip carries out a send all the same", async ({ app }) => {
  await app.fundedWallet("alice", { ETH: ETHER });
  answering(({ method }) =>
    method === "eth_maxPriorityFeePerGas"
      ? { error: { code: -32601, message: "the method eth_maxPriorityFeePerGas does not exist" } }
      : null,
  );
  const to = freshAddress();
  const order = { userId: "alice", toAddress: to, token: "ETH", amount: "5" };
  expect((await app.post("/mcp/defi/send", order)).body.status).toBe("confirmed");
  expect(await etherOf(to)).toBe(5n);
});
