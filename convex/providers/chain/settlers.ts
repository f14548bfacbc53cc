import { encodeFunctionData, erc20Abi, isAddressEqual, parseAbi, type Address } from "viem";
import { unusableFailure } from "../call";
import { chainClient, guarded, UPSTREAM } from "./rpc/client";
import { AMOUNT, answerIn, readMany, type Outcome, type Read } from "./rpc/reads";

/**
 * Finds the swap provider's genuine settler contract. Source: the README of 0x-settler, "How do I find the most recent
 * deployment?": the registry has the same address on every chain, and a call of it that reverts means "paused".
 */

const REGISTRY: Address = "0x00000000000004533Fe15556B1E086BB1A72cEae";
const registryAbi = parseAbi([
  "function ownerOf(uint256 feature) view returns (address)",
  "function prev(uint128 feature) view returns (address)",
]);
/** The feature of swaps that their taker submits. */
const TAKER_SUBMITTED = 2n;

/** The current settler, and the one before. */
const settlers = (): Read[] =>
  (["ownerOf", "prev"] as const).map((functionName) => {
    const data = encodeFunctionData({ abi: registryAbi, functionName, args: [TAKER_SUBMITTED] });
    return { to: REGISTRY, data };
  });

export type Genuineness = "genuine" | "counterfeit" | "paused";

/**
 * Whether a settler is the current one, or the previous one, which quotes still name for a while after a deployment.
 * @throws AppError `upstream` if the chain cannot be reached, or has no registry.
 */
export async function judgeSettler(settler: Address): Promise<Genuineness> {
  return guarded(async () => judged(settler, await readMany(chainClient(), settlers())));
}

/** The calls whose answers `lossIn` reads. */
export function lossReads(address: Address): Read[] {
  return [
    ...settlers(),
    { to: address, data: encodeFunctionData({ abi: erc20Abi, functionName: "totalSupply" }) },
  ];
}

/**
 * What money that is sent to an address would be lost to: the swap provider's contract, which anybody may empty, or a
 * token's; `null` for any other. A contract is a token if it tells its supply.
 * @throws AppError `upstream` if the chain has no registry.
 */
export function lossIn(
  address: Address,
  [current, previous, total]: readonly Outcome[],
): "settler" | "token" | null {
  if (judged(address, [current, previous]) === "genuine") return "settler";
  return answerIn(AMOUNT, total) === null ? null : "token";
}

function judged(settler: Address, [current, previous]: readonly (Outcome | undefined)[]): Genuineness {
  const now = settlerIn(current);
  if (now === null) return "paused";
  const before = settlerIn(previous);
  return [now, before].some((one) => one !== null && isAddressEqual(one, settler))
    ? "genuine"
    : "counterfeit";
}

/** The settler that the registry names; `null` if it reverts. @throws AppError `upstream` if there is no registry. */
function settlerIn(data: Outcome | undefined): Address | null {
  if (data === null || data === undefined) return null;
  const [settler] = answerIn([{ type: "address" }], data) ?? [];
  if (settler === undefined) throw unusableFailure(UPSTREAM);
  return settler;
}
