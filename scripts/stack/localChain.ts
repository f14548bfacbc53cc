import path from "node:path";
import { toHex } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { DEV_MNEMONIC } from "../chain/addresses";
import { startChain, type Chain, type Prices } from "../chain/index";
import type { Clock } from "./time/clock";
import type { Market } from "../standins/sources/market";

/**
 * Starts the stack's own chain on the application's clock and the simulated market. The clock is moved forward to the
 * last block of a kept chain.
 * @param options.kept Where the stack's state is kept, `null` to keep nothing.
 * @throws PortInUseError, ChainStartError
 */
export async function startLocalChain(options: {
  port: number;
  kept: string | null;
  clock: Clock;
  market: Market;
}): Promise<Chain> {
  const { port, kept, clock, market } = options;
  return startChain({
    port,
    clock: () => clock.now() / 1_000,
    onHead: (seconds) => {
      const behind = seconds - Math.floor(clock.now() / 1_000);
      if (behind <= 0) return;
      console.warn(
        `The stored chain is ${behind} s ahead of this machine's clock, so the application's clock starts there`,
      );
      clock.notBefore(seconds * 1_000);
    },
    speed: clock.speed,
    stateFile: kept === null ? null : path.join(kept, "chain.json"),
    prices: () => pricesOf(market),
    log: (message) => console.warn(message),
  });
}

/** The local chain's platform wallet (account 1) and payment relayer (account 2); nothing for a real chain. */
export function paymentAccounts(chain: Chain | null): Record<string, string> {
  const key = keyOf(2);
  const platform = chain?.accounts[1];
  if (platform === undefined || key === null) return {};
  return { PLATFORM_WALLET_ADDRESS: platform, X402_RELAYER_PRIVATE_KEY: key };
}

/** The account (4) that anchors the signal record on the local chain; none for a real chain, where its key would be public. */
export function anchorAccount(chain: Chain | null): Record<string, string> {
  const key = keyOf(4);
  return chain === null || key === null ? {} : { ANCHOR_PRIVATE_KEY: key };
}

function keyOf(addressIndex: number): string | null {
  const { privateKey } = mnemonicToAccount(DEV_MNEMONIC, { addressIndex }).getHdKey();
  return privateKey === null ? null : toHex(privateKey);
}

/** The prices of the simulated market for the chain's price feeds. */
export function pricesOf(market: Market): Prices {
  const price = (symbol: string) => market.coin(symbol).price;
  return {
    ETH: price("ETH"),
    BTC: price("BTC"),
    USDC: price("USDC"),
    USDT: price("USDT"),
    DAI: price("DAI"),
  };
}
