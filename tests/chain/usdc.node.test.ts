import { encodeFunctionData, erc20Abi, parseEventLogs, parseSignature } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/chain";
import { usdcAbi } from "../../scripts/chain/abis";
import { TOKENS } from "../../scripts/chain/addresses";
import { authorize, cancellationCall, settlementCall } from "../payments/authorizations";
import { clientOf, newWallet, revertOf, seconds, send, startTestChain, balanceOf } from "./support";

let chain: Chain;
let payer: PrivateKeyAccount;
let payee: PrivateKeyAccount;

beforeAll(async () => {
  chain = await startTestChain();
  payer = await newWallet(chain, { USDC: 1_000_000n });
  payee = await newWallet(chain);
});
afterAll(() => chain.stop());

/** A call that moves 100 units from the payer to the payee, but for the terms that are named. */
async function authorization(terms: Parameters<typeof authorize>[1] = {}) {
  const authorized = await authorize(payer, { to: payee.address, value: 100n, ...terms });
  const isTransfer = terms.kind !== "ReceiveWithAuthorization";
  const call = settlementCall(
    authorized,
    isTransfer ? "transferWithAuthorization" : "receiveWithAuthorization",
  );
  return { ...call, authorized };
}

const balance = () => balanceOf(chain, TOKENS.USDC, payee.address);

/** The text of a revert, as `Error(string)` carries it. */
function textOf(revert: unknown): string {
  return typeof revert === "string" ? Buffer.from(revert.slice(2), "hex").toString("latin1") : "";
}

test("an authorized transfer is carried out by anybody, once, and logs its use", async () => {
  const before = await balance();
  const call = await authorization();
  const receipt = await send(chain, payee, call);
  expect(receipt.status).toBe("success");
  expect(await balance()).toBe(before + 100n);
  expect(receipt.logs[0]?.topics).toEqual([
    "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5",
    `0x${payer.address.slice(2).toLowerCase().padStart(64, "0")}`,
    call.authorized.message.nonce,
  ]);
  expect(parseEventLogs({ abi: erc20Abi, eventName: "Transfer", logs: receipt.logs })).toHaveLength(1);

  expect(textOf(await revertOf(chain, payee.address, call))).toContain("authorization is used or canceled");
  expect((await send(chain, payee, call)).status).toBe("reverted");
  expect(await balance()).toBe(before + 100n);
});

test("the overload that takes v, r and s does the same", async () => {
  const before = await balance();
  const { message, signature } = (await authorization()).authorized;
  const { r, s, v = 27n } = parseSignature(signature);
  const { from, to, value, validAfter, validBefore, nonce } = message;
  const data = encodeFunctionData({
    abi: usdcAbi,
    functionName: "transferWithAuthorization",
    args: [from, to, value, validAfter, validBefore, nonce, Number(v), r, s],
  });
  expect((await send(chain, payee, { to: TOKENS.USDC, data })).status).toBe("success");
  expect(await balance()).toBe(before + 100n);
});

test("every refusal has FiatToken's text", async () => {
  const stranger = privateKeyToAccount(generatePrivateKey());
  const soon = BigInt(seconds() + 3_600);
  const refusals: [string, Awaited<ReturnType<typeof authorization>>][] = [
    ["FiatTokenV2: invalid signature", await authorization({ by: stranger })],
    ["FiatTokenV2: authorization is not yet valid", await authorization({ validAfter: soon })],
    ["FiatTokenV2: authorization is expired", await authorization({ validBefore: 1n })],
    ["ERC20: transfer amount exceeds balance", await authorization({ value: 10n ** 12n })],
  ];
  for (const [text, call] of refusals) {
    expect(textOf(await revertOf(chain, payee.address, call))).toContain(text);
    expect((await send(chain, payee, call)).status).toBe("reverted");
  }
});

test("only the payee receives", async () => {
  const call = await authorization({ kind: "ReceiveWithAuthorization" });
  expect(textOf(await revertOf(chain, payer.address, call))).toContain(
    "FiatTokenV2: caller must be the payee",
  );
  expect((await send(chain, payee, call)).status).toBe("success");
});

test("a cancelled authorization is worth nothing", async () => {
  const call = await authorization();
  const { nonce } = call.authorized.message;
  const cancellation = await cancellationCall(payer, call.authorized);
  expect((await send(chain, payee, cancellation)).status).toBe("success");
  const used = await clientOf(chain).readContract({
    address: TOKENS.USDC,
    abi: usdcAbi,
    functionName: "authorizationState",
    args: [payer.address, nonce],
  });
  expect(used).toBe(true);
  expect(textOf(await revertOf(chain, payee.address, call))).toContain("used or canceled");
});
