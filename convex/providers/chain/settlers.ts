import { ContractFunctionRevertedError, isAddressEqual, parseAbi, type Address } from "viem";
import { multicall } from "viem/actions";
import { causeOf, chainClient, guarded } from "./client";

/**
 * Finds the swap provider's genuine settler contract. Source: the README of 0x-settler, "How do I find the most recent
 * deployment?": the registry has the same address on every chain, and a call of it that reverts means "paused".
 */

const REGISTRY: Address = "0x00000000000004533Fe15556B1E086BB1A72cEae";
/** The feature of swaps that their taker submits. */
const TAKER_SUBMITTED = 2n;

const registryAbi = parseAbi([
  "function ownerOf(uint256 tokenId) view returns (address)",
  "function prev(uint128 featureId) view returns (address)",
]);

export type Genuineness = "genuine" | "counterfeit" | "paused";

/**
 * Whether a settler is the current one, or the previous one, which quotes still name for a while after a deployment.
 * @throws AppError `upstream` if the chain cannot be reached, or has no registry.
 */
export async function judgeSettler(settler: Address): Promise<Genuineness> {
  const client = chainClient();
  const ask = { address: REGISTRY, abi: registryAbi, args: [TAKER_SUBMITTED] } as const;
  const contracts = [
    { ...ask, functionName: "ownerOf" },
    { ...ask, functionName: "prev" },
  ] as const;
  return guarded(async () => {
    const answers = await multicall(client, { contracts, allowFailure: true });
    const [current, previous] = answers.map(settlerIn);
    if (current === null || current === undefined) return "paused";
    const known = previous === null || previous === undefined ? [current] : [current, previous];
    return known.some((one) => isAddressEqual(one, settler)) ? "genuine" : "counterfeit";
  });
}

type Answer = { status: "success"; result: Address } | { status: "failure"; error: Error };

/** The settler that the registry names; `null` if it reverts. */
function settlerIn(answer: Answer): Address | null {
  if (answer.status === "success") return answer.result;
  if (causeOf(answer.error, ContractFunctionRevertedError) !== null) return null;
  throw answer.error;
}
