/**
 * The signed objects of x402's extension `offer-receipt`, as its published library defines them. Pure; used by the
 * service and by `verify-receipt`.
 */

export const OFFER_RECEIPT = "offer-receipt";

export type Offer = {
  version: number;
  resourceUrl: string;
  scheme: string;
  /** `eip155:8453`. */
  network: string;
  asset: string;
  payTo: string;
  amount: string;
  /** Epoch seconds. */
  validUntil: number;
};

export type Receipt = {
  version: number;
  network: string;
  resourceUrl: string;
  /** Lower case. */
  payer: string;
  /** Epoch seconds: when the report was delivered. */
  issuedAt: number;
  /** The transaction that paid. */
  transaction: string;
};

const field = (name: string, type = "string") => ({ name, type });
const number = (name: string) => field(name, "uint256");
const OFFER = [
  ...[number("version"), field("resourceUrl"), field("scheme"), field("network"), field("asset")],
  ...[field("payTo"), field("amount"), number("validUntil")],
];
const RECEIPT = [
  ...[number("version"), field("network"), field("resourceUrl"), field("payer")],
  ...[number("issuedAt"), field("transaction")],
];

/** The library signs for chain 1 whatever the network is; the payload names the network. */
const domainOf = (name: string) => ({ name, version: "1", chainId: 1 });

export function typedOffer(message: Offer) {
  const { version, validUntil } = message;
  return {
    domain: domainOf("x402 offer"),
    types: { Offer: OFFER },
    primaryType: "Offer" as const,
    message: { ...message, version: BigInt(version), validUntil: BigInt(validUntil) },
  };
}

export function typedReceipt(message: Receipt) {
  const { version, issuedAt } = message;
  return {
    domain: domainOf("x402 receipt"),
    types: { Receipt: RECEIPT },
    primaryType: "Receipt" as const,
    message: { ...message, version: BigInt(version), issuedAt: BigInt(issuedAt) },
  };
}

/** The `info` of an offer could list several offers of the same 402; here there is one. */
export type Signed<Payload> = { format: "eip712"; payload: Payload; signature: string };

const signed = {
  type: "object",
  properties: { format: { const: "eip712" }, payload: { type: "object" }, signature: { type: "string" } },
  required: ["format", "payload", "signature"],
};

export function offered(offer: Signed<Offer>) {
  const schema = {
    type: "object",
    properties: { offers: { type: "array", items: signed } },
    required: ["offers"],
  };
  return { [OFFER_RECEIPT]: { info: { offers: [{ ...offer, acceptIndex: 0 }] }, schema } };
}

export function receipted(receipt: Signed<Receipt>) {
  const schema = { type: "object", properties: { receipt: signed }, required: ["receipt"] };
  return { [OFFER_RECEIPT]: { info: { receipt }, schema } };
}
