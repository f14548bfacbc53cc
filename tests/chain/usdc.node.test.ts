import { encodeFunctionData, erc20Abi, parseEventLogs, parseSignature, toHex, type Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount, type PrivateKeyAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Chain } from "../../scripts/stack/chain";
import { usdcAbi } from "../../scripts/stack/chain/abis";
import { TOKENS } from "../../scripts/stack/chain/addresses";
import { clientOf, newWallet, revertOf, seconds, send, startTestChain } from "./support";

let chain: Chain;
let payer: PrivateKeyAccount;
let payee: PrivateKeyAccount;

beforeAll(async () => {
  chain = await startTestChain();
  payer = await newWallet(chain, { USDC: 1_000_000n });
  payee = await newWallet(chain);
});
afterAll(() => chain.stop());

const domain = { name: "USD Coin", version: "2", chainId: 8453, verifyingContract: TOKENS.USDC } as const;
const fields = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" },
] as const;
const types = { TransferWithAuthorization: fields, ReceiveWithAuthorization: fields } as const;

type Changes = { value?: bigint; validAfter?: bigint; validBefore?: bigint; nonce?: Hex };
type Kind = keyof typeof types;

let lastNonce = 0;
function messageOf({ value = 100n, validAfter = 0n, validBefore, nonce }: Changes) {
  return {
    from: payer.address,
    to: payee.address,
    value,
    validAfter,
    validBefore: validBefore ?? BigInt(seconds() + 3_600),
    nonce: nonce ?? toHex(++lastNonce, { size: 32 }),
  };
}

function sign(
  message: ReturnType<typeof messageOf>,
  primaryType: Kind = "TransferWithAuthorization",
  by = payer,
) {
  return by.signTypedData({ domain, types, primaryType, message });
}

async function authorization(changes: Changes = {}, kind: Kind = "TransferWithAuthorization", by = payer) {
  const message = messageOf(changes);
  const signature = await sign(message, kind, by);
  const functionName =
    kind === "TransferWithAuthorization" ? "transferWithAuthorization" : "receiveWithAuthorization";
  const { from, to, value, validAfter, validBefore, nonce } = message;
  const args = [from, to, value, validAfter, validBefore, nonce, signature] as const;
  return { to: TOKENS.USDC, data: encodeFunctionData({ abi: usdcAbi, functionName, args }), message };
}

const balance = () =>
  clientOf(chain).readContract({
    address: TOKENS.USDC,
    abi: erc20Abi,
    functionName: "balanceOf",
    args: [payee.address],
  });

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
    call.message.nonce,
  ]);
  expect(parseEventLogs({ abi: erc20Abi, eventName: "Transfer", logs: receipt.logs })).toHaveLength(1);

  expect(textOf(await revertOf(chain, payee.address, call))).toContain("authorization is used or canceled");
  expect((await send(chain, payee, call)).status).toBe("reverted");
  expect(await balance()).toBe(before + 100n);
});

test("the overload that takes v, r and s does the same", async () => {
  const before = await balance();
  const message = messageOf({});
  const { r, s, v = 27n } = parseSignature(await sign(message));
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
    ["FiatTokenV2: invalid signature", await authorization({}, "TransferWithAuthorization", stranger)],
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
  const call = await authorization({}, "ReceiveWithAuthorization");
  expect(textOf(await revertOf(chain, payer.address, call))).toContain(
    "FiatTokenV2: caller must be the payee",
  );
  expect((await send(chain, payee, call)).status).toBe("success");
});

test("a cancelled authorization is worth nothing", async () => {
  const call = await authorization();
  const { nonce } = call.message;
  const signature = await payer.signTypedData({
    domain,
    types: {
      CancelAuthorization: [
        { name: "authorizer", type: "address" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "CancelAuthorization",
    message: { authorizer: payer.address, nonce },
  });
  const args = [payer.address, nonce, signature] as const;
  const data = encodeFunctionData({ abi: usdcAbi, functionName: "cancelAuthorization", args });
  expect((await send(chain, payee, { to: TOKENS.USDC, data })).status).toBe("success");
  const used = await clientOf(chain).readContract({
    address: TOKENS.USDC,
    abi: usdcAbi,
    functionName: "authorizationState",
    args: [payer.address, nonce],
  });
  expect(used).toBe(true);
  expect(textOf(await revertOf(chain, payee.address, call))).toContain("used or canceled");
});
