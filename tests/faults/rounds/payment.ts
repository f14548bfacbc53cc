import type { PrivateKeyAccount } from "viem/accounts";
import { toHex } from "viem";
import { CHAIN_ID, TOKENS } from "../../../scripts/stack/chain/addresses";

/** The x402 header (version 2) that pays `to`, signed by the payer. @param validBefore In seconds. */
export async function signedPayment(
  payer: PrivateKeyAccount,
  terms: { to: `0x${string}`; value: bigint; validBefore: bigint },
): Promise<Record<string, string>> {
  const message = {
    from: payer.address,
    validAfter: 0n,
    nonce: toHex(crypto.getRandomValues(new Uint8Array(32))),
    ...terms,
  };
  const signature = await payer.signTypedData({
    domain: { name: "USD Coin", version: "2", chainId: CHAIN_ID, verifyingContract: TOKENS.USDC },
    types: {
      TransferWithAuthorization: [
        { name: "from", type: "address" },
        { name: "to", type: "address" },
        { name: "value", type: "uint256" },
        { name: "validAfter", type: "uint256" },
        { name: "validBefore", type: "uint256" },
        { name: "nonce", type: "bytes32" },
      ],
    },
    primaryType: "TransferWithAuthorization",
    message,
  });
  const { value, validAfter, validBefore, ...rest } = message;
  const amounts = { value: String(value), validAfter: String(validAfter), validBefore: String(validBefore) };
  const accepted = {
    scheme: "exact",
    network: `eip155:${CHAIN_ID}`,
    amount: "1",
    asset: "0x00",
    payTo: "0x00",
  };
  const payload = { signature, authorization: { ...rest, ...amounts } };
  const proof = {
    x402Version: 2,
    payload,
    resource: { url: "https://some.where/agent/research/paid" },
    accepted,
  };
  return { "PAYMENT-SIGNATURE": Buffer.from(JSON.stringify(proof)).toString("base64") };
}
