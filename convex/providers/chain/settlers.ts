import { isAddressEqual, type Address } from "viem";
import { unusableFailure } from "../call";
import { chainClient, guarded, UPSTREAM } from "./rpc/client";
import { answerIn, dataOf, erc20, registry, type Outcome, type Read } from "./rpc/methods";
import { readMany } from "./rpc/reads";

/**
 * Finds the swap provider's genuine settler contract. Source: the README of 0x-settler, "How do I find the most recent
 * deployment?": the registry has the same address on every chain, and a call of it that reverts means "paused".
 */

const REGISTRY: Address = "0x00000000000004533Fe15556B1E086BB1A72cEae";
/** The feature of swaps that their taker submits. */
const TAKER_SUBMITTED = 2n;

/** The current settler, and the one before. */
const settlers = (): Read[] => [
  { to: REGISTRY, data: dataOf(registry.ownerOf, [TAKER_SUBMITTED]) },
  { to: REGISTRY, data: dataOf(registry.prev, [TAKER_SUBMITTED]) },
];

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
  return [...settlers(), { to: address, data: dataOf(erc20.totalSupply, []) }];
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
  return answerIn(erc20.totalSupply, total) === null ? null : "token";
}

function judged(settler: Address, [current, previous]: readonly (Outcome | undefined)[]): Genuineness {
  const now = settlerIn(current, registry.ownerOf);
  if (now === null) return "paused";
  const before = settlerIn(previous, registry.prev);
  return [now, before].some((one) => one !== null && isAddressEqual(one, settler))
    ? "genuine"
    : "counterfeit";
}

/** The settler that the registry names; `null` if it reverts. @throws AppError `upstream` if there is no registry. */
function settlerIn(
  data: Outcome | undefined,
  method: typeof registry.ownerOf | typeof registry.prev,
): Address | null {
  if (data === null || data === undefined) return null;
  const [settler] = answerIn(method, data) ?? [];
  if (settler === undefined) throw unusableFailure(UPSTREAM);
  return settler;
}
