import * as z from "zod";
import { jsonSchemaOf } from "../../lib/http/jsonSchema";

/**
 * Payloads of webhook providers, in one form. Only the hashes are used, and only as a reason to ask the chain: amounts,
 * senders and receivers of a payload are not even read. Pure.
 */

export type DepositHint = {
  /** Lower case. */
  txHash: string;
  /** The logs that were named, for the answer alone: whole transactions are looked up. */
  logIndexes: number[];
  /** The provider says that the chain has dropped it, or a log of it. */
  removed: boolean;
};

/** A transaction, or one log of it. */
type Named = { txHash: string; logIndex?: number; removed: boolean };

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

/**
 * The most logs of one transaction that the answer goes into. Providers tell of all transfers of a block in one payload,
 * so whoever fills a transaction with logs must not keep the others' out.
 */
export const MAX_LOGS = 100;

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
  .transform((body) => [mention(body.txHash, body.logIndex, body.removed)])
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
      .map(({ hash, log }) => mention(hash, log?.logIndex, log?.removed)),
  )
  .describe("Alchemy's Address Activity; categories other than token and erc20 are ignored.");

/** `onchain.activity.detected`. */
const cdpEvent = z
  .object({ transaction_hash: txHash, log_index: logIndex })
  .transform((body) => [mention(body.transaction_hash, body.log_index, false)])
  .describe("Coinbase CDP's onchain.activity.detected.");

/** `wallet.activity.detected`. */
const cdpWallet = z
  .object({ data: z.object({ transactionHash: txHash, logIndex }) })
  .transform(({ data }) => [mention(data.transactionHash, data.logIndex, false)])
  .describe("Coinbase CDP's wallet.activity.detected.");

const maybeHash = txHash.optional().catch(undefined);
const streamed = z.object({
  txHash: maybeHash,
  transactionHash: maybeHash,
  transaction_hash: maybeHash,
  hash: maybeHash,
  logIndex: logIndex.catch(undefined),
  removed: removed.catch(undefined),
});

/** Fields that only a block has, of those that also has a `hash`. */
const OF_BLOCKS = ["parentHash", "transactionsRoot", "transactions"];

/**
 * A stream's batch. The stream's filter decides the form of `data`, so every object in it that names a transaction
 * counts, at any depth. A block names those in its `transactions`, as objects or as hashes. If the batch replaces
 * dropped blocks, everything it names is checked again.
 */
const quickNode = z
  .object({
    data: z.array(z.unknown()),
    metadata: z.object({ blocks_reorged: z.unknown().optional() }).nullish(),
  })
  .transform(({ data, metadata }) => {
    const reorged = ![undefined, null, false, 0, ""].some((none) => none === metadata?.blocks_reorged);
    return namedIn(data, reorged);
  })
  .describe(
    "QuickNode Streams: every object in `data` that names a transaction counts, at any depth. A block's own hash names none; its `transactions` do, as objects or as hashes.",
  );

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
    return hints;
  })
  .meta({ accepts: () => jsonSchemaOf(z.union([plain, alchemy, quickNode, cdpEvent, cdpWallet]), "input") });

/** In the order of the text. Without recursion, because a body may be nested very deeply. */
function namedIn(data: readonly unknown[], reorged: boolean): Named[] {
  const found: Named[] = [];
  const open: unknown[] = data.toReversed();
  while (open.length > 0) {
    const entry = open.pop();
    if (typeof entry !== "object" || entry === null) continue;
    const own = streamed.safeParse(entry).data;
    const isBlock = OF_BLOCKS.some((name) => Object.hasOwn(entry, name));
    const name =
      own?.txHash ?? own?.transactionHash ?? own?.transaction_hash ?? (isBlock ? undefined : own?.hash);
    if (own !== undefined && name !== undefined) {
      found.push(mention(name, own.logIndex, own.removed === true || reorged));
    } else {
      for (const [key, inner] of Object.entries(entry).toReversed()) {
        open.push(key === "transactions" && Array.isArray(inner) ? inner.map(asObject) : inner);
      }
    }
  }
  return found;
}

/** An entry of a block's list: a transaction, or its hash alone. */
function asObject(entry: unknown): unknown {
  return typeof entry === "string" ? { hash: entry } : entry;
}

function isLogIndex(value: unknown): boolean {
  if (typeof value === "string") return /^(?:\d{1,7}|0x[0-9a-fA-F]{1,6})$/.test(value.trim());
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** Recognises a form by the one field that only it has. */
function shapeOf(body: Record<string, unknown>): z.ZodType<Named[]> {
  if (body.event !== undefined) return alchemy;
  if (body.transaction_hash !== undefined) return cdpEvent;
  if (Array.isArray(body.data)) return quickNode;
  if (body.data !== undefined) return cdpWallet;
  return plain;
}

/** One hint per transaction; a removal wins, because it needs another check. */
function distinct(mentions: readonly Named[]): DepositHint[] {
  const byHash = new Map<string, { logs: Set<number>; removed: boolean }>();
  for (const { txHash: hash, logIndex: index, removed: isRemoved } of mentions) {
    const one = byHash.get(hash) ?? { logs: new Set(), removed: false };
    if (index !== undefined && one.logs.size < MAX_LOGS) one.logs.add(index);
    one.removed ||= isRemoved;
    byHash.set(hash, one);
  }
  return Array.from(byHash, ([hash, { logs, removed: isRemoved }]) => {
    return { txHash: hash, logIndexes: [...logs], removed: isRemoved };
  });
}

function mention(
  hash: string,
  index: number | null | undefined,
  isRemoved: boolean | null | undefined,
): Named {
  return {
    txHash: hash,
    ...(index === null || index === undefined ? {} : { logIndex: index }),
    removed: isRemoved === true,
  };
}
