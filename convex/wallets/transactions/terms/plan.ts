import type { Address } from "viem";
import { internal } from "../../../_generated/api";
import type { Doc } from "../../../_generated/dataModel";
import type { ActionCtx } from "../../../_generated/server";
import { MOST_FEE } from "../../../lib/money/base";
import { AppError } from "../../../lib/errors";
import { formatUnits } from "../../../lib/money/amounts";
import { readAccount } from "../../../providers/chain/accounts";
import { dataOf, erc20, type Read } from "../../../providers/chain/rpc/methods";
import { prepareTransaction, type Preparation, type Transaction } from "../../../providers/chain/preparation";
import { lossIn, lossReads } from "../../../providers/chain/settlers";
import { storedAddress } from "../../addresses";
import { TOKENS, type Symbol } from "../../tokens";
import type { SwapTerms, TransactionRequest } from "../tables";

/** Sends and approvals as calls, and whether a wallet can pay for them. */

/** The wallet that pays: of a transaction's row, or of a rehearsal. */
export type Payer = Pick<Doc<"transactions">, "userId" | "walletId" | "address">;

type SendRequest = Extract<TransactionRequest, { kind: "send" }>;

const OTHERS_MONEY =
  "toAddress is the swap provider's contract: anybody may take what is sent there, and nothing was sent";
const NOBODYS_MONEY = "toAddress is a token's contract: what is sent there is lost, and nothing was sent";

export function sendTransaction(token: Symbol, to: Address, amount: bigint): Transaction {
  const { address } = TOKENS[token];
  if (address === null) return { to, data: "0x", value: amount };
  return { to: address, data: dataOf(erc20.transfer, [to, amount]), value: 0n };
}

export function approval(token: Address, spender: Address, amount: bigint): Transaction {
  return { to: token, data: dataOf(erc20.approve, [spender, amount]), value: 0n };
}

/** Room for the state to change between the estimate and the block. */
export function gasLimit(estimated: bigint): bigint {
  return (estimated * 12n) / 10n;
}

/** The L1 fee follows the L1's own fees: keep twice the current one. */
export const L1_FEE_MARGIN = 2n;

/** What is missing for a transaction, in words; `null` if nothing is. */
function shortfall(
  spent: { token: Symbol; amount: bigint },
  preparation: Preparation,
): { token: Symbol; missing: string } | null {
  const { token, amount } = spent;
  const native = TOKENS[token].address === null;
  const balance = native ? preparation.native : preparation.token;
  if (balance < amount) return { token, missing: insufficient(token, amount, balance) };
  if (preparation.gas.kind === "reverts") return null;
  const fees = maximumFees(preparation, preparation.gas.gas);
  const needed = fees + (native ? amount : 0n);
  if (preparation.native >= needed) return null;
  const missing =
    `Insufficient ETH for the network fee: ${formatUnits(needed, 18)} needed in all (fee up to ` +
    `${formatUnits(fees, 18)}), the wallet holds ${formatUnits(preparation.native, 18)}, ` +
    `${formatUnits(needed - preparation.native, 18)} is missing`;
  return { token: "ETH", missing };
}

/** `Insufficient USDC: 9 needed, the wallet holds 5, 4 is missing` */
function insufficient(token: Symbol, needed: bigint, balance: bigint): string {
  const shown = (amount: bigint) => formatUnits(amount, TOKENS[token].decimals);
  return (
    `Insufficient ${token}: ${shown(needed)} needed, the wallet holds ${shown(balance)}, ` +
    `${shown(needed - balance)} is missing`
  );
}

function maximumFees({ fees, l1Fee }: Preparation, gas: bigint): bigint {
  return gasLimit(gas) * fees.maxFeePerGas + l1Fee * L1_FEE_MARGIN;
}

/**
 * The most gas for one transaction: a recipient's or a token's own code decides how much a transfer burns. An ERC-20
 * transfer takes some 60,000 gas, one to a contract wallet some 100,000, a swap over several pools up to two million.
 */
export const MOST_GAS = { send: 250_000n, approve: 150_000n, swap: 3_000_000n } as const;
type Kind = keyof typeof MOST_GAS;

/** @throws AppError `invalid_request` if a transaction would exceed its gas limit. */
function refuseGas(kind: Kind, { gas }: Preparation): void {
  if (gas.kind === "reverts" || gasLimit(gas.gas) <= MOST_GAS[kind]) return;
  throw new AppError(
    "invalid_request",
    `The transaction would take up to ${gasLimit(gas.gas)} gas, and a transaction of this kind (${kind}) may take ` +
      `at most ${MOST_GAS[kind]}: nothing was signed`,
  );
}

/** @throws AppError `upstream` if the network could take more for a transaction than this service pays. */
function refuseFee(fee: bigint): void {
  if (fee <= MOST_FEE) return;
  throw new AppError(
    "upstream",
    `The network fee could reach ${formatUnits(fee, 18)} ETH, and this service pays at most ` +
      `${formatUnits(MOST_FEE, 18)} ETH for a transaction: nothing was signed`,
  );
}

/** A quote may state more gas than the estimate, up to three times as much. */
function withGas(preparation: Preparation, wanted: bigint): Preparation {
  const { gas } = preparation;
  if (gas.kind === "reverts" || wanted <= gas.gas) return preparation;
  const most = gas.gas * 3n;
  return { ...preparation, gas: { kind: "estimated", gas: wanted < most ? wanted : most } };
}

/** @throws AppError `invalid_request` if the call would revert. */
function gasOf({ gas }: Preparation): bigint {
  if (gas.kind === "estimated") return gasLimit(gas.gas);
  throw new AppError("invalid_request", `The transaction would fail: ${gas.name}`);
}

/** " The user's basic wallet holds 3 USDC: …" if that would be enough; otherwise nothing. A failure here is ignored. */
async function otherWalletHint(
  ctx: ActionCtx,
  userId: string,
  walletId: string,
  token: Symbol,
  needed: bigint,
): Promise<string> {
  try {
    for (const kind of ["basic", "custody"] as const) {
      const wallet = await ctx.runQuery(internal.wallets.wallets.find, { userId, kind });
      if (wallet === null || wallet.walletId === walletId) continue;
      const { address, decimals } = TOKENS[token];
      const balances = await readAccount(
        storedAddress(wallet.address),
        address === null ? [] : [address],
        [],
      );
      const balance = address === null ? balances.native : (balances.tokens[0] ?? 0n);
      if (balance >= needed)
        return `. The user's ${kind} wallet ${wallet.address} holds ${formatUnits(balance, decimals)} ${token}: a send with from: "${kind}" spends it`;
    }
  } catch {
    return "";
  }
  return "";
}

/** A transaction of a wallet's queue, held by one driver. */
export type Job = {
  transaction: Doc<"transactions">;
  nextNonce: number | null;
  walletId: string;
  driver: number;
};

/** A call that the wallet can pay for. */
export type Affordable = {
  transaction: Transaction;
  preparation: Preparation;
  gas: bigint;
  /** The most that the network may take for it, in wei: its gas, and twice the current fee for its L1 data. */
  mostFee: bigint;
};

/** Ready to be signed. */
export type Plan = Affordable & {
  /** As far as this service knows; the chain may know more. */
  nextNonce: number | null;
  terms?: SwapTerms;
};

type Cost = {
  kind: Kind;
  /** What is spent of the chain's own coin besides fees, or of an ERC-20. */
  spent: { token: Symbol; amount: bigint };
  /** The gas that a quote states, if it exceeds the chain's estimate. */
  wantedGas?: bigint;
  /** The assumed gas, if the chain cannot estimate it because a rehearsal has no signature. */
  assumedGas?: bigint;
  /** Calls to make beside the preparation's. */
  beside?: readonly Read[];
};

/**
 * Everything that the transaction needs from the chain, once the wallet is known to hold enough.
 * @throws AppError `invalid_request`, `upstream`
 */
export async function affordable(
  ctx: ActionCtx,
  payer: Payer,
  transaction: Transaction,
  { kind, spent, wantedGas = 0n, assumedGas, beside }: Cost,
): Promise<Affordable> {
  const from = storedAddress(payer.address);
  const prepared = await prepareTransaction(from, transaction, TOKENS[spent.token].address, beside);
  const preparation =
    assumedGas === undefined
      ? withGas(prepared, wantedGas)
      : { ...prepared, gas: { kind: "estimated" as const, gas: assumedGas } };
  refuseGas(kind, preparation);
  const short = shortfall(spent, preparation);
  if (short !== null) {
    const hint = await otherWalletHint(ctx, payer.userId, payer.walletId, short.token, spent.amount);
    throw new AppError("invalid_request", `${short.missing}${hint}`);
  }
  const gas = gasOf(preparation);
  const mostFee = gas * preparation.fees.maxFeePerGas + preparation.l1Fee * L1_FEE_MARGIN;
  refuseFee(mostFee);
  return { transaction, preparation, gas, mostFee };
}

/**
 * A send that the wallet can pay for.
 * @throws AppError `invalid_request` if the recipient is the swap provider's contract, which anybody may empty, or a
 * token's; what `affordable` throws.
 */
export async function sendable(ctx: ActionCtx, payer: Payer, request: SendRequest): Promise<Affordable> {
  const spent = { token: request.token, amount: BigInt(request.amount) };
  const to = storedAddress(request.toAddress);
  const transfer = sendTransaction(spent.token, to, spent.amount);
  const affordableSend = await affordable(ctx, payer, transfer, {
    ...{ kind: "send", spent },
    beside: lossReads(to),
  });
  const loss = lossIn(to, affordableSend.preparation.answers);
  if (loss === "settler") throw new AppError("invalid_request", OTHERS_MONEY);
  if (loss === "token") throw new AppError("invalid_request", NOBODYS_MONEY);
  return affordableSend;
}

/** Ends a request for which the wallet holds too little. @throws AppError `invalid_request`, always. */
export async function refuseFor(
  ctx: ActionCtx,
  { userId, walletId }: Payer,
  token: Symbol,
  needed: bigint,
  balance: bigint,
): Promise<never> {
  const hint = await otherWalletHint(ctx, userId, walletId, token, needed);
  throw new AppError("invalid_request", `${insufficient(token, needed, balance)}${hint}`);
}
