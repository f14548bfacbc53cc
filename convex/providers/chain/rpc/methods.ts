import {
  concatHex,
  decodeAbiParameters,
  encodeAbiParameters,
  type AbiParameter,
  type Address,
  type Hex,
} from "viem";

/**
 * The contracts' functions that this service calls, each with its selector written out: viem would parse the signature
 * when a module loads, and hash it at every call. `tests/chain/methods.test.ts` compares each with viem's.
 */

type Shape = readonly AbiParameter[];

type Method<Inputs extends Shape, Outputs extends Shape> = {
  name: string;
  selector: Hex;
  inputs: Inputs;
  outputs: Outputs;
};

/** What is sent to a contract: `data` is the ABI's encoding of a call. */
export type Read = { to: Address; data: Hex };

/** The bytes that a call returned; `null` if it reverted. */
export type Outcome = Hex | null;

const address = { type: "address" } as const;
const bool = { type: "bool" } as const;
const bytes = { type: "bytes" } as const;
const bytes32 = { type: "bytes32" } as const;
const uint256 = { type: "uint256" } as const;
const call = {
  type: "tuple[]",
  components: [named("target", "address"), named("allowFailure", "bool"), named("callData", "bytes")],
} as const;
const result = {
  type: "tuple[]",
  components: [named("success", "bool"), named("returnData", "bytes")],
} as const;

function named<const Name extends string, const Type extends string>(name: Name, type: Type) {
  return { name, type };
}

function method<const Inputs extends Shape, const Outputs extends Shape>(
  selector: Hex,
  name: string,
  inputs: Inputs,
  outputs: Outputs,
): Method<Inputs, Outputs> {
  return { name, selector, inputs, outputs };
}

export const erc20 = {
  totalSupply: method("0x18160ddd", "totalSupply", [], [uint256]),
  balanceOf: method("0x70a08231", "balanceOf", [address], [uint256]),
  allowance: method("0xdd62ed3e", "allowance", [address, address], [uint256]),
  transfer: method("0xa9059cbb", "transfer", [address, uint256], [bool]),
  approve: method("0x095ea7b3", "approve", [address, uint256], [bool]),
};

export const weth = {
  deposit: method("0xd0e30db0", "deposit", [], []),
  withdraw: method("0x2e1a7d4d", "withdraw", [uint256], []),
};

/** EIP-3009. */
export const authorizations = {
  transfer: method(
    "0xcf092995",
    "transferWithAuthorization",
    [address, address, uint256, uint256, uint256, bytes32, bytes],
    [],
  ),
  state: method("0xe94a0102", "authorizationState", [address, bytes32], [bool]),
};

/** Multicall3 (github.com/mds1/multicall3). */
export const multicall3 = {
  aggregate3: method("0x82ad56cb", "aggregate3", [call], [result]),
  getEthBalance: method("0x4d2301cc", "getEthBalance", [address], [uint256]),
};

/** Chainlink's AggregatorV3Interface: round, answer, startedAt, updatedAt, answeredInRound. */
export const feed = {
  latestRoundData: method(
    "0xfeaf968c",
    "latestRoundData",
    [],
    [{ type: "uint80" }, { type: "int256" }, uint256, uint256, { type: "uint80" }],
  ),
};

/** The registry of 0x's settlers. */
export const registry = {
  ownerOf: method("0x6352211e", "ownerOf", [uint256], [address]),
  prev: method("0xe2603dc2", "prev", [{ type: "uint128" }], [address]),
};

/** The OP stack's oracle of what a transaction's data costs on L1. */
export const gasPriceOracle = {
  feeUpperBound: method("0xf1c7a58b", "getL1FeeUpperBound", [uint256], [uint256]),
};

/** The call of a method, encoded. */
export function dataOf<const Inputs extends Shape>(
  { selector, inputs }: Method<Inputs, Shape>,
  args: Parameters<typeof encodeAbiParameters<Inputs>>[1],
): Hex {
  return concatHex([selector, encodeAbiParameters(inputs, args)]);
}

/** A method's answer. @throws viem's error for bytes that are none */
export function answerOf<const Outputs extends Shape>(
  { outputs }: Method<Shape, Outputs>,
  data: Hex,
): ReturnType<typeof decodeAbiParameters<Outputs>> {
  return decodeAbiParameters(outputs, data);
}

/** A method's answer; `null` if the call reverted, or for bytes that are no answer, as of an address without code. */
export function answerIn<const Outputs extends Shape>(
  { outputs }: Method<Shape, Outputs>,
  data: Outcome | undefined,
): ReturnType<typeof decodeAbiParameters<Outputs>> | null {
  // viem would throw, which costs more than all else here.
  if (data === null || data === undefined || data === "0x") return null;
  try {
    return decodeAbiParameters(outputs, data);
  } catch {
    return null;
  }
}
