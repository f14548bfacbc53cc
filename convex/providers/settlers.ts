import { ContractFunctionRevertedError, isAddressEqual, parseAbi, type Address } from "viem";
import { readContract } from "viem/actions";
import { causeOf, chainClient, guarded } from "./chain";

/**
 * Which contract is the swap provider's genuine settler. Source: the README of 0x-settler, "How do I find the most recent
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
 * Whether a settler is the current one, or the one before, which quotes still name for a while after a deployment.
 * @throws AppError `upstream` when the chain cannot be asked, or has no registry.
 */
export async function judgeSettler(settler: Address): Promise<Genuineness> {
  const client = chainClient();
  return guarded(async () => {
    const ask = (functionName: "ownerOf" | "prev") =>
      unlessReverted(
        readContract(client, { address: REGISTRY, abi: registryAbi, functionName, args: [TAKER_SUBMITTED] }),
      );
    const [current, previous] = await Promise.all([ask("ownerOf"), ask("prev")]);
    if (current === null) return "paused";
    const genuine = [current, previous].some((one) => one !== null && isAddressEqual(one, settler));
    return genuine ? "genuine" : "counterfeit";
  });
}

async function unlessReverted(answer: Promise<Address>): Promise<Address | null> {
  try {
    return await answer;
  } catch (error) {
    if (causeOf(error, ContractFunctionRevertedError) !== null) return null;
    throw error;
  }
}
