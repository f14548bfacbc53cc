import { numberToHex, type Address } from "viem";
import { getServiceAddress } from "../../convex/wallets/custody/signatures";
import { chain, ETHER, etherOf, usdcOf } from "../support/chain/chain";
import type { WalletApp } from "../support/chain/walletApp";
import { test as ownersTest } from "../support/owners";

/** Wallets with USDC and nothing else, and the relayer that gives them ether for it. */

export const KEY = `0x${"5".repeat(64)}` as const;
export const test = ownersTest.extend({
  settings: { env: { X402_RELAYER_PRIVATE_KEY: KEY, CONFIRMATIONS: "1" } },
});

export const DOLLARS = { USDC: 20_000_000n, ETH: 0n };

export const buy = (app: WalletApp, fields: object = {}) =>
  app.post("/mcp/defi/gas", { userId: "alice", ...fields });

/** The USDC and the ether of an address. */
export const sums = async (of: Address) => [await usdcOf(of), await etherOf(of)] as const;

/** The relayer with one ether, and the USDC that it has kept of earlier tests; and somebody else. */
export async function fillTank() {
  const relayer = getServiceAddress("relayer");
  const stranger = chain.accounts[8];
  if (relayer === null || stranger === undefined) throw new Error("There is no relayer");
  await chain.rpc("anvil_setBalance", [relayer, numberToHex(ETHER)]);
  return { relayer, stranger, kept: await usdcOf(relayer) };
}
