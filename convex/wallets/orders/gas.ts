import { encodeFunctionData, keccak256, parseAbi, stringToHex, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { getSetting } from "../../lib/env";
import { HOUR, SECOND } from "../../lib/time";
import { readHead } from "../../providers/chain/blocks";
import { getTransactionStatus, readTransaction } from "../../providers/chain/transactions";
import {
  buildAuthorizationCall,
  buildAuthorizationData,
  findAuthorizationUse,
  readAuthorization,
  type TypedData,
} from "../../providers/chain/usdc";
import { requireStoredAddress, type LiveOrder } from "../model";
import type { GasRequest } from "../tables";
import { MULTICALL3 } from "../tokens";
import { requireExchangeable, requireRelayer } from "./gasTerms";
import type { ExchangeStep } from "./gasSteps";
import { isEnded, type Order } from "./model";

/**
 * The exchange of USDC for ether: the wallet signs an authorization (EIP-3009) to the relayer, and one transaction of the
 * relayer takes the USDC and gives the ether, or does neither. For actions.
 */

/** How long the authorization is valid, in seconds. */
const VALID_SECONDS = 600;
/** Seconds of the chain after its end before an unused authorization counts as dead. */
const SETTLED_SECONDS = 20;
/** Age of a failed payment whose nonce is used, as the node says without a receipt, before another one is made. */
const UNSEEN_FOR_MS = HOUR;

const multicallAbi = parseAbi([
  "struct Call3Value { address target; bool allowFailure; uint256 value; bytes callData; }",
  "struct Result { bool success; bytes returnData; }",
  "function aggregate3Value(Call3Value[] calls) payable returns (Result[])",
]);

/** An authorization's nonce: one per order, so that an order pays at most once. */
function deriveNonce({ _id }: Pick<Order, "_id">): Hex {
  return keccak256(stringToHex(_id));
}

/**
 * Has the authorization of a gas order signed, and stores it with the relayer's order: only then the relayer signs.
 * @param sign The signer's: what it gets is made here from the order alone.
 */
export async function authorizeExchange(
  ctx: ActionCtx,
  row: LiveOrder,
  request: GasRequest,
  sign: (data: TypedData) => Promise<Hex>,
): Promise<void> {
  const { amount, ether } = request;
  const relayer = requireRelayer();
  await requireExchangeable(ctx, relayer, row.address, request);
  const validBefore = Math.floor(Date.now() / SECOND) + VALID_SECONDS;
  const terms = {
    from: row.address,
    to: relayer,
    value: amount,
    validAfter: "0",
    validBefore: String(validBefore),
    nonce: deriveNonce(row),
  };
  const signature = await sign(buildAuthorizationData(terms));
  const take = buildAuthorizationCall({ ...terms, signature });
  const calls = [
    { target: take.to, allowFailure: false, value: 0n, callData: take.data },
    { target: requireStoredAddress(row.address), allowFailure: false, value: BigInt(ether), callData: "0x" },
  ] as const;
  const data = encodeFunctionData({ abi: multicallAbi, functionName: "aggregate3Value", args: [calls] });
  await ctx.runMutation(internal.wallets.orders.gasSteps.storeAuthorization, {
    orderId: row._id,
    relayer,
    validBefore,
    signature,
    call: { to: MULTICALL3, data, value: ether },
  });
}

/**
 * Follows a signed gas order by the relayer's orders for it.
 * @param progress One step of a relayer's order.
 * @throws AppError `upstream`
 */
export async function checkExchange(
  ctx: ActionCtx,
  row: Order,
  progress: (ctx: ActionCtx, orderId: Id<"orders">) => Promise<Order>,
): Promise<Order> {
  const { _id: orderId, exchange, address, state } = row;
  if (exchange === undefined || (state !== "signed" && !isEnded(row))) return row;
  const { serviceId, fallbackId, validBefore } = exchange;
  const advance = (step: ExchangeStep): Promise<Order> =>
    ctx.runMutation(internal.wallets.orders.gasSteps.advanceExchange, { orderId, step });
  const half = await progress(ctx, fallbackId ?? serviceId);
  const { txHash } = half;
  if (half.state === "confirmed" && txHash !== undefined) return advance({ kind: "done", txHash });
  if (state !== "failed" && !isEnded(half))
    return txHash === undefined ? row : advance({ kind: "sent", txHash });
  const payAlone = () => advance({ kind: "fallback", halfId: half._id, relayer: requireRelayer() });
  if (fallbackId !== undefined) return (await isDead(half)) ? payAlone() : row;
  const authorization = { from: address, nonce: deriveNonce(row) };
  const { used, at } = await readAuthorization(authorization);
  if (!used) {
    // Looked at once more after its end.
    if (state === "failed") return advance({ kind: "left" });
    // Read at one block, whose time is past the end, as is this service's: it can never be used any more.
    const now = BigInt(Math.floor(Date.now() / SECOND));
    const isOver = (at < now ? at : now) >= BigInt(validBefore + SETTLED_SECONDS);
    if (isOver) return advance({ kind: "expired" });
    return half.tries.length === 0 && at < BigInt(validBefore) ? advance({ kind: "again" }) : row;
  }
  const usedBy = await findAuthorizationUse(authorization, row._creationTime);
  const seen = usedBy === null ? null : await readTransaction(usedBy);
  // The relayer's own transaction: a further look at its order finds it mined.
  if (seen?.kind !== "mined" || half.tries.some(({ hash }) => hash === seen.hash)) return row;
  const isTaken = seen.transfers.some((one) => one.authorization === authorization.nonce);
  return isTaken && (await isFinal(seen.block.number)) ? payAlone() : row;
}

async function isFinal(block: number): Promise<boolean> {
  const { number } = await readHead();
  return number - block >= Number(getSetting("CONFIRMATIONS"));
}

/** Whether no block can bring back a failed payment of the ether alone: only then another one may be made. */
async function isDead({ address, nonce, tries, endedAt = Date.now() }: Order): Promise<boolean> {
  if (nonce === undefined) return true;
  const hashes = tries.filter((one) => one.nonce === nonce).map(({ hash }) => hash);
  const status = await getTransactionStatus(requireStoredAddress(address), nonce, hashes);
  if (status.kind === "used") return Date.now() - endedAt >= UNSEEN_FOR_MS;
  if (status.kind !== "mined") return false;
  const isEmpty = tries.find(({ hash }) => hash === status.hash)?.kind === "empty";
  return (isEmpty || !status.succeeded) && isFinal(status.block.number);
}
