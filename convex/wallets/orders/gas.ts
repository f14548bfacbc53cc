import { encodeFunctionData, keccak256, parseAbi, stringToHex, type Hex } from "viem";
import { internal } from "../../_generated/api";
import type { Id } from "../../_generated/dataModel";
import type { ActionCtx } from "../../_generated/server";
import { getSetting } from "../../lib/env";
import { AppError } from "../../lib/errors";
import { SECOND } from "../../lib/time";
import { readHead } from "../../providers/chain/blocks";
import { readTransaction } from "../../providers/chain/transactions";
import {
  buildAuthorizationCall,
  buildAuthorizationData,
  findAuthorizationUse,
  readAuthorization,
  type TypedData,
} from "../../providers/chain/usdc";
import { requireStoredAddress } from "../model";
import type { GasRequest } from "../tables";
import { MULTICALL3 } from "../tokens";
import { MOST_USDC, requireFairGas, requireRelayer } from "./gasTerms";
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
  row: Order,
  request: GasRequest,
  sign: (data: TypedData) => Promise<Hex>,
): Promise<void> {
  const { amount, ether } = request;
  if (BigInt(amount) > MOST_USDC) throw new AppError("internal", "The amount is beyond what gas may cost");
  const relayer = requireRelayer();
  await requireFairGas(request);
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
  const service = await progress(ctx, fallbackId ?? serviceId);
  const { txHash } = service;
  if (service.state === "confirmed" && txHash !== undefined) return advance({ kind: "done", txHash });
  if (state === "failed") return advance({ kind: "left" });
  if (!isEnded(service)) return txHash === undefined ? row : advance({ kind: "sent", txHash });
  // A failed payment of the ether alone is made again, once no block can bring it back.
  if (fallbackId !== undefined) return advance({ kind: "fallback" });
  const authorization = { from: address, nonce: deriveNonce(row) };
  const { used, at } = await readAuthorization(authorization);
  if (!used) {
    // Read at one block, whose time is past the end: it can never be used any more.
    if (at >= BigInt(validBefore + SETTLED_SECONDS)) return advance({ kind: "expired" });
    return service.tries.length === 0 && at < BigInt(validBefore) ? advance({ kind: "again" }) : row;
  }
  const usedBy = await findAuthorizationUse(authorization, row._creationTime);
  // The relayer's own transaction: a further look at its order finds it mined.
  if (usedBy === null || service.tries.some(({ hash }) => hash === usedBy)) return row;
  const [seen, head] = await Promise.all([readTransaction(usedBy), readHead()]);
  const isFinal =
    seen.kind === "mined" &&
    seen.succeeded &&
    head.number - seen.block.number >= Number(getSetting("CONFIRMATIONS"));
  return isFinal ? advance({ kind: "fallback" }) : row;
}
