import { CHAIN_ID } from "../lib/base";
import type { Quote } from "../providers/swap";
import type { TypedData } from "./custody/signing";
import { PERMIT2 } from "./tokens";

/** Permit2's SignatureTransfer: one transfer, of at most one amount of one token, by one spender, until a deadline. Pure. */

/** Source: Permit2's own `PermitHash.sol`. A provider's types are never signed: they could say anything. */
const TYPES = {
  PermitTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
};

type Message = NonNullable<Quote["permit2"]>["eip712"]["message"];

/** What is signed for a permit whose message was checked. */
export function permitData({ permitted, spender, nonce, deadline }: Message): TypedData {
  const { token, amount } = permitted;
  return {
    domain: { name: "Permit2", chainId: CHAIN_ID, verifyingContract: PERMIT2 },
    types: TYPES,
    primaryType: "PermitTransferFrom",
    message: { permitted: { token, amount }, spender, nonce, deadline },
  };
}
