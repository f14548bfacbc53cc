import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { isDeepStrictEqual } from "node:util";
import { formatUnits, isAddress, isAddressEqual, isHex, recoverTypedDataAddress, type Address } from "viem";
import * as z from "zod";
import { USDC } from "../convex/lib/money/base";
import { OFFER_RECEIPT, typedOffer, typedReceipt } from "../convex/payments/artifacts";
import { NETWORK, NETWORK_V2 } from "../convex/payments/terms";
import { command, Misuse } from "./command";
import { Unreadable } from "./publicRecord";
import { green, red } from "./terminal";

/**
 * `npm run verify-receipt -- RECEIPT --offer OFFER | --signer ADDRESS`: checks the signed receipt of a paid report, and the offer before it, without asking anybody. Exit code 0: they hold; 1: they do not; 2: they could not be checked.
 */

const USAGE = `Usage: npm run verify-receipt -- RECEIPT (--offer OFFER | --signer ADDRESS) [--payer ADDRESS] [--json]

Checks the signed receipt of a paid report, and its offer, without asking anybody.

  RECEIPT           the Payment-Response header of the answer, or a file with it; - reads stdin
  --offer OFFER     the Payment-Required header of the 402, or a file with it: the same key must have signed both
  --signer ADDRESS  who must have signed: the account that sends signed payments
  --payer ADDRESS   who must have paid
  --json            prints what was found, as JSON on stdout

Exit code 0: the receipt holds; 1: it does not; 2: it could not be checked.`;

const signature = z.string().refine((value) => isHex(value));
const address = z.string().refine((value) => isAddress(value, { strict: false }));
const named = { version: z.literal(1), network: z.string(), resourceUrl: z.string() };
const terms = { scheme: z.string(), asset: address, payTo: address, amount: z.string().regex(/^\d{1,78}$/) };
const offerShape = z.object({ payload: z.object({ ...named, ...terms, validUntil: z.int() }), signature });
const receiptShape = z.object({
  payload: z.object({ ...named, payer: address, issuedAt: z.int(), transaction: z.string() }),
  signature,
});
const carrying = <Info extends z.ZodType>(info: Info) =>
  z.object({ extensions: z.object({ [OFFER_RECEIPT]: z.object({ info }) }) });
const required = carrying(z.object({ offers: z.array(offerShape).min(1) })).extend({
  accepts: z.array(z.object({ ...terms, network: z.string() })),
});
const response = carrying(z.object({ receipt: receiptShape })).extend({
  success: z.boolean(),
  network: z.string(),
  transaction: z.string(),
  payer: address,
});

type Found = {
  receipt: z.output<typeof receiptShape>["payload"];
  /** `null` if no key can have made the signature. */
  signer: Address | null;
  offer: z.output<typeof offerShape>["payload"] | null;
  problems: string[];
};

async function checked({ receipt: shown, offer: offered, signer: wanted, payer }: Asked): Promise<Found> {
  const {
    success,
    network,
    transaction,
    payer: told,
    extensions,
  } = await decoded(shown, response, "receipt");
  const { payload, signature: signed } = extensions[OFFER_RECEIPT].info.receipt;
  const signer = await recoverTypedDataAddress({ ...typedReceipt(payload), signature: signed }).catch(nobody);
  const problems: string[] = [];
  const hold = (isSo: boolean, problem: string) => isSo || problems.push(problem);
  if (wanted !== undefined) hold(isSame(signer, wanted), `The receipt was signed by ${nameOf(signer)}`);
  if (payer !== undefined)
    hold(isAddressEqual(payload.payer, payer), `The receipt names the payer ${payload.payer}`);
  hold(success, "The answer says that the payment failed");
  hold(isAddressEqual(payload.payer, told), "The answer names another payer than the receipt");
  const isOfVersionOne = network === NETWORK && payload.network === NETWORK_V2;
  hold(payload.network === network || isOfVersionOne, "The answer names another network than the receipt");
  hold(payload.transaction === transaction, "The answer names another transaction than the receipt");
  const offer = offered === undefined ? null : await offerOf(offered);
  if (offer !== null) {
    const { payload: asked, signer: by } = offer;
    hold(isSame(signer, by), `The offer was signed by ${nameOf(by)}, the receipt by ${nameOf(signer)}`);
    hold(asked.resourceUrl === payload.resourceUrl, "The offer is for another address than the receipt");
    hold(asked.network === payload.network, "The offer is for another network than the receipt");
    hold(payload.issuedAt <= asked.validUntil, "The offer had ended before the receipt was issued");
    hold(offer.isAskedFor, "The 402 asks for something else than its signed offer");
  }
  return { receipt: payload, signer, offer: offer?.payload ?? null, problems };
}

async function offerOf(shown: string) {
  const { accepts, extensions } = await decoded(shown, required, "offer");
  const [offer] = extensions[OFFER_RECEIPT].info.offers;
  if (offer === undefined) throw new Unreadable("The 402 has no signed offer");
  const { payload, signature: signed } = offer;
  const signer = await recoverTypedDataAddress({ ...typedOffer(payload), signature: signed }).catch(nobody);
  const isAskedFor = accepts.some(({ scheme, network, asset, payTo, amount }) =>
    isDeepStrictEqual(
      [scheme, network, asset, payTo, amount],
      TERMS.map((term) => payload[term]),
    ),
  );
  return { payload, signer, isAskedFor };
}

const TERMS = ["scheme", "network", "asset", "payTo", "amount"] as const;

/** A signature that no key can have made. */
const nobody = () => null;
const nameOf = (signer: Address | null) => signer ?? "nobody";

function isSame(signer: Address | null, other: Address | null): boolean {
  return signer !== null && other !== null && isAddressEqual(signer, other);
}

/** A header in base64 or as JSON, or a file that contains it, with or without the header's name. */
async function decoded<Shape extends z.ZodType>(
  shown: string,
  shape: Shape,
  what: "receipt" | "offer",
): Promise<z.output<Shape>> {
  const isHeader = /^(?:[A-Za-z0-9+/_-]{100,}={0,2}$|\{)/.test(shown);
  const header = isHeader ? shown : await (shown === "-" ? text(process.stdin) : fileOf(shown));
  const value = header.trim().replace(/^[\w-]+:\s*/, "");
  try {
    return shape.parse(JSON.parse(value.startsWith("{") ? value : Buffer.from(value, "base64").toString()));
  } catch {
    throw new Unreadable(`This is not a header with a signed ${what}`);
  }
}

async function fileOf(path: string): Promise<string> {
  return readFile(path, "utf8").catch(() => {
    throw new Unreadable(`There is no file ${path}`);
  });
}

function print({ receipt, signer, offer, problems }: Found): void {
  if (problems.length > 0) {
    console.log(`${red("✗")} It does not hold:`);
    for (const problem of problems) console.log(`  - ${problem}`);
    return;
  }
  const issued = new Date(receipt.issuedAt * 1_000).toISOString();
  console.log(`${green("✓")} ${receipt.payer} has paid for a report that was delivered at ${issued}.`);
  console.log(`  ${receipt.resourceUrl}, by ${receipt.transaction} on ${receipt.network}`);
  if (offer !== null) console.log(`  Offered for ${sumOf(offer)} to ${offer.payTo}`);
  console.log(`  Signed by ${nameOf(signer)}`);
}

function sumOf({ asset, amount }: NonNullable<Found["offer"]>): string {
  if (!isAddressEqual(asset, USDC)) return `${amount} units of ${asset}`;
  return `${formatUnits(BigInt(amount), 6)} USDC`;
}

type Asked = {
  receipt: string;
  offer: string | undefined;
  signer: Address | undefined;
  payer: Address | undefined;
};

function addressOf(shown: string | undefined, option: string): Address | undefined {
  if (shown === undefined || isAddress(shown, { strict: false })) return shown;
  throw new Misuse(`${option} has to be an address`);
}

const about = {
  usage: USAGE,
  flags: {
    offer: { type: "string" },
    signer: { type: "string" },
    payer: { type: "string" },
    json: { type: "boolean", default: false },
  },
  most: 1,
  forOperator: [Unreadable],
  failure: 2,
} as const;
await command(about, async ({ values, positionals: [receipt] }) => {
  const { offer, json } = values;
  if (receipt === undefined) throw new Misuse("Name one receipt");
  // Every signature belongs to some key.
  if (offer === undefined && values.signer === undefined)
    throw new Misuse("Say who has to have signed it: with --offer or --signer");
  const [signer, payer] = [addressOf(values.signer, "--signer"), addressOf(values.payer, "--payer")];
  const found = await checked({ receipt, offer, signer, payer });
  const holds = found.problems.length === 0;
  if (json) console.log(JSON.stringify({ holds, ...found }, null, 2));
  else print(found);
  return holds ? 0 : 1;
});
