import { parseEther, parseUnits, toHex, type Address } from "viem";
import * as z from "zod";
import { DECIMALS, FEEDS, MULTICALL3, PERMIT2, POOL, REGISTRY, SETTLER, TOKENS } from "./addresses";
import {
  createTurns,
  feedWrite,
  mineBlock,
  startFeeds,
  startMiner,
  type Feeds,
  type Miner,
  type Prices,
} from "./miner";
import { createRpc, hexShape, startAnvil, type Rpc } from "./node";
import { buildGifts, placeContracts, sendAll, type Amounts } from "./place";
import { existsSync } from "node:fs";

/**
 * The local chain: a real EVM node with Base's chain id, on which Permit2, the tokens and the price feeds have their
 * addresses of Base. It follows the application's clock and the simulated market.
 */

export type { Prices } from "./miner";
export type { Amounts } from "./place";

export type Chain = {
  url: string;
  /** @throws RpcError if the node refuses. */
  rpc(method: string, params?: readonly unknown[]): Promise<unknown>;
  miner: Pick<Miner, "mine" | "look" | "pause" | "resume" | "paused">;
  feeds: Pick<Feeds, "tick" | "set" | "pause" | "resume">;
  /** The node's ten accounts, of `DEV_MNEMONIC`. */
  accounts: readonly Address[];
  addresses: typeof ADDRESSES;
  /** Gives an account tokens and ether by transactions of the stack's own account, and waits until they are mined. */
  fund(address: Address, amounts: Amounts): Promise<void>;
  /** Ends the chain and saves it. */
  stop(): Promise<void>;
};

const ADDRESSES = {
  tokens: TOKENS,
  feeds: FEEDS,
  permit2: PERMIT2,
  multicall3: MULTICALL3,
  settler: SETTLER,
  registry: REGISTRY,
};

export type ChainOptions = {
  /** 0 for any free one. */
  port: number;
  /** The application's time, in seconds. */
  clock: () => number;
  /** How many times faster than real time the clock runs. */
  speed: number;
  /** The file that keeps the chain across restarts, or `null` to keep nothing. */
  stateFile: string | null;
  /** In USD, at this moment. */
  prices: () => Prices;
  log: (message: string) => void;
};

/** The node's accounts: 0 is the developer's, 1 the platform wallet, 2 the payment relayer, 3 the stack's own, 4 the anchor's. */
const DEVELOPER = 0;
const FAUCET = 3;

const ETHER_OF_FAUCET = parseEther("1000000000000");
const DEVELOPERS_UNITS = "1000000";
/** The pool's reserves. It holds no ether: that comes from unwrapping. */
const RESERVE_UNITS = "1000000000";
const DAY = 86_400;
/** The node reports a block as safe after this many more blocks. */
const SAFE_AFTER = 32;
/** The blocks after the gifts are not dated ahead of the clock. */
const SECONDS_BETWEEN = 0;

/** @throws OperatorError */
export async function startChain(options: ChainOptions): Promise<Chain> {
  const { port, clock, speed, prices, log, stateFile } = options;
  const isKept = stateFile !== null && existsSync(stateFile);
  const anvil = await startAnvil({ port, stateFile, genesisTime: isKept ? null : Math.floor(clock()) });
  try {
    const rpc = createRpc(anvil.url);
    const accounts = z.array(hexShape).parse(await rpc.call("eth_accounts"));
    const faucet = accountAt(accounts, FAUCET);
    if (!isKept) await setUp(rpc, accounts, clock);
    await mineBlock(rpc, clock);
    const pace = { rpc, clock, speed, log };
    const miner = startMiner(pace);
    const feeds = startFeeds(pace, miner, prices);
    await feeds.tick();

    let stopping = false;
    void anvil.exited.then((reason) => {
      if (!stopping) log(`The chain has ended: ${reason}`);
    });
    const inTurn = createTurns();
    return {
      url: anvil.url,
      rpc: (method, params) => rpc.call(method, params),
      miner,
      feeds,
      accounts,
      addresses: ADDRESSES,
      fund: (address, amounts) =>
        inTurn(() => sendAll(rpc, faucet, buildGifts(address, amounts), () => miner.mine())),
      stop: async () => {
        stopping = true;
        await feeds.stop();
        await miner.stop();
        // Pending transactions would be lost: the node does not save them.
        if (stateFile !== null && !miner.paused()) await miner.mine().catch(() => undefined);
        await anvil.stop();
      },
    };
  } catch (error) {
    await anvil.stop();
    throw error;
  }
}

async function setUp(rpc: Rpc, accounts: readonly Address[], clock: () => number): Promise<void> {
  const mine = () => mineBlock(rpc, clock);
  const faucet = accountAt(accounts, FAUCET);
  await rpc.call("anvil_setBalance", [faucet, toHex(ETHER_OF_FAUCET)]);
  await placeContracts(rpc, faucet, mine);
  const gift = (to: Address, units: string) => buildGifts(to, tokenAmounts(units));
  const gave = [...gift(accountAt(accounts, DEVELOPER), DEVELOPERS_UNITS), ...gift(POOL, RESERVE_UNITS)];
  await sendAll(rpc, faucet, gave, mine);
  // Up since yesterday, so that no client waits for the grace period of a recovered sequencer.
  await rpc.batch([feedWrite("SEQUENCER", { answer: 0n, updatedAt: Math.floor(clock()) - DAY })]);
  // Followers of the chain start at its safe block, after these gifts, which are no market movements.
  await mine();
  await rpc.call("anvil_mine", [toHex(SAFE_AFTER), toHex(SECONDS_BETWEEN)]);
}

function tokenAmounts(units: string): Amounts {
  const amount = (symbol: keyof typeof TOKENS) => parseUnits(units, DECIMALS[symbol]);
  const symbols = ["USDC", "USDT", "DAI", "WETH", "CBBTC"] as const;
  return Object.fromEntries(symbols.map((symbol) => [symbol, amount(symbol)]));
}

function accountAt(accounts: readonly Address[], index: number): Address {
  const account = accounts[index];
  if (account === undefined) throw new Error("The node has too few accounts");
  return account;
}
