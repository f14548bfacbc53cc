import * as z from "zod";
import { jsonSchemaOf } from "../../lib/http/jsonSchema";

/**
 * Payloads of webhook providers, in one form. Only the hashes are used, and only as a reason to ask the chain: amounts,
 * senders and receivers of a payload are not even read. Pure.
 */

export type DepositHint = {
  /** Lower case. */
  txHash: string;
  logIndex?: number;
  /** The provider says that the chain has dropped it. */
  removed: boolean;
};

export const answerShape = z.object({
  credited: z.array(
    z.object({
      txHash: z.string(),
      logIndex: z.int(),
      amountUsdc: z.string().describe("Exact decimal of the transfer, in USDC"),
      credits: z.int(),
    }),
  ),
  pending: z.array(z.object({ txHash: z.string() })).describe("Not settled yet; the check continues"),
  ignored: z.array(z.object({ txHash: z.string(), reason: z.string() })).describe("Credits nothing"),
});

/** The most transfers one call may name. */
export const MAX_HINTS = 100;

const TX_HASH = /^0[xX][0-9a-fA-F]{64}$/;

const txHash = z
  .string("must be a string")
  .trim()
  .regex(TX_HASH, "must be a transaction hash: 0x and 64 hex digits")
  .toLowerCase();

/** A number, its digits, or hex as in JSON-RPC. */
const logIndex = z
  .custom<number | string>(isLogIndex, "must be the log's index")
  .transform((index) => Number(index))
  .meta({
    accepts: () => ({
      anyOf: [
        { type: "integer", minimum: 0 },
        { type: "string", pattern: String.raw`^\s*(?:\d{1,7}|0x[0-9a-fA-F]{1,6})\s*$` },
      ],
    }),
  })
  .nullish();

const removed = z.boolean("must be true or false").nullish();

const plain = z
  .object({ txHash, logIndex, removed })
  .transform((body) => [hint(body.txHash, body.logIndex, body.removed)])
  .describe("Plain form: one transaction, or one log of it.");

/** Address Activity. Of its categories only `token` and `erc20` carry logs of tokens. */
const alchemy = z
  .object({
    event: z.object({
      activity: z.array(
        z.object({
          hash: txHash,
          category: z.string().nullish(),
          log: z.object({ logIndex, removed }).nullish(),
        }),
      ),
    }),
  })
  .transform(({ event }) =>
    event.activity
      .filter(({ category }) => category == null || /^(?:token|erc20)$/i.test(category))
      .map(({ hash, log }) => hint(hash, log?.logIndex, log?.removed)),
  )
  .describe("Alchemy's Address Activity; categories other than token and erc20 are ignored.");

/** `onchain.activity.detected`. */
const cdpEvent = z
  .object({ transaction_hash: txHash, log_index: logIndex })
  .transform((body) => [hint(body.transaction_hash, body.log_index, false)])
  .describe("Coinbase CDP's onchain.activity.detected.");

/** `wallet.activity.detected`. */
const cdpWallet = z
  .object({ data: z.object({ transactionHash: txHash, logIndex }) })
  .transform(({ data }) => [hint(data.transactionHash, data.logIndex, false)])
  .describe("Coinbase CDP's wallet.activity.detected.");

const MAX_DEPTH = 6;
const maybeHash = txHash.optional().catch(undefined);
const streamed = z.object({
  txHash: maybeHash,
  transactionHash: maybeHash,
  transaction_hash: maybeHash,
  hash: maybeHash,
  logIndex: logIndex.catch(undefined),
  removed: removed.catch(undefined),
});

/**
 * A stream's batch. The stream's filter decides the form of `data`, so every object in it that names a transaction
 * counts, at any depth. If the batch replaces dropped blocks, everything it names is checked again.
 */
const quickNode = z
  .object({
    data: z.array(z.unknown()),
    metadata: z.object({ blocks_reorged: z.unknown().optional() }).nullish(),
  })
  .transform(({ data, metadata }) => {
    const reorged = ![undefined, null, false, 0, ""].some((none) => none === metadata?.blocks_reorged);
    return data.flatMap((entry) => named(entry, reorged, 0));
  })
  .describe("QuickNode Streams: every object in `data` that names a transaction counts, at any depth.");

/** The body of the deposit webhook, in any of the known forms; its output is the named transactions, without repetitions. */
export const depositPayload = z
  .looseObject({ event: z.unknown(), transaction_hash: z.unknown(), data: z.unknown() })
  .partial()
  .transform((body, context): DepositHint[] => {
    const parsed = shapeOf(body).safeParse(body, { reportInput: true });
    const hints = parsed.success ? distinct(parsed.data) : [];
    if (!parsed.success) {
      for (const { message, path, input } of parsed.error.issues) {
        // A missing field is null: without an input, the issue would get the whole body.
        context.addIssue({ code: "custom", message, path: [...path], input: input ?? null });
      }
    }
    if (hints.length > MAX_HINTS) {
      context.addIssue({
        code: "custom",
        message: `must name at most ${MAX_HINTS} transfers`,
        path: [Object.hasOwn(body, "event") ? "event" : "data"],
      });
    }
    return hints;
  })
  .meta({ accepts: () => jsonSchemaOf(z.union([plain, alchemy, quickNode, cdpEvent, cdpWallet]), "input") });

function named(entry: unknown, reorged: boolean, depth: number): DepositHint[] {
  if (typeof entry !== "object" || entry === null || depth > MAX_DEPTH) return [];
  const own = streamed.safeParse(entry).data;
  const name = own?.txHash ?? own?.transactionHash ?? own?.transaction_hash ?? own?.hash;
  if (own !== undefined && name !== undefined) {
    return [hint(name, own.logIndex, own.removed === true || reorged)];
  }
  return Object.values(entry).flatMap((inner) => named(inner, reorged, depth + 1));
}

function isLogIndex(value: unknown): boolean {
  if (typeof value === "string") return /^(?:\d{1,7}|0x[0-9a-fA-F]{1,6})$/.test(value.trim());
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Recognises a form by the one field that only it has. */
function shapeOf(body: Record<string, unknown>): z.ZodType<DepositHint[]> {
  if (body.event !== undefined) return alchemy;
  if (body.transaction_hash !== undefined) return cdpEvent;
  if (Array.isArray(body.data)) return quickNode;
  if (body.data !== undefined) return cdpWallet;
  return plain;
}

/** One hint per transfer; a removal wins, because it needs another check. */
function distinct(hints: readonly DepositHint[]): DepositHint[] {
  const byTransfer = new Map<string, DepositHint>();
  for (const one of hints) {
    const key = `${one.txHash}:${one.logIndex ?? ""}`;
    const before = byTransfer.get(key);
    byTransfer.set(key, { ...one, removed: one.removed || before?.removed === true });
  }
  return [...byTransfer.values()];
}

function hint(
  hash: string,
  index: number | null | undefined,
  isRemoved: boolean | null | undefined,
): DepositHint {
  return {
    txHash: hash,
    ...(index === null || index === undefined ? {} : { logIndex: index }),
    removed: isRemoved === true,
  };
}
