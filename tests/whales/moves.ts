import { encodeFunctionData, erc20Abi, maxUint256, parseAbi, toHex, type Address, type Hex } from "viem";
import { MULTICALL3, TOKENS } from "../../scripts/chain/addresses";
import type { Chain } from "../../scripts/chain/index";
import { hexShape } from "../../scripts/chain/node";

/** Movements of money on the local chain between any addresses, for tests and benches. The node signs for them. */

/** Coinbase's wrapped bitcoin on Base. The local chain only has it if a test places it. */
const CBBTC: Address = "0xcbB7C0000aB88B473b1f5aFd9ef808440eed33Bf";

const CONTRACTS = { ...TOKENS, CBBTC } as const;

type Coin = keyof typeof CONTRACTS | "ETH";

/** The amount in the coin's smallest unit. */
type Move = { coin: Coin; from: Address; to: Address; amount: bigint };

export type Moves = {
  /** Sends each in a transaction of its own, and mines them together. @returns Their hashes, in order. */
  send: (moves: readonly Move[]) => Promise<Hex[]>;
  /** Moves tokens in one transaction, in order, for owners who have allowed it; an unrelated account sends the transaction. */
  together: (moves: readonly (Move & { coin: keyof typeof CONTRACTS })[]) => Promise<Hex>;
  /** Mints tokens, and burns them: with a Transfer from or to the zero address. */
  mint: (coin: "USDC" | "USDT" | "DAI" | "CBBTC", to: Address, amount: bigint) => Promise<Hex>;
  /** Drops the last blocks, and replaces them by as many empty ones. */
  drop: (blocks: number) => Promise<void>;
  /** Mines empty blocks. */
  mine: (blocks: number) => Promise<void>;
};

const faucet = parseAbi(["function mint(address to, uint256 value)"]);
const multicall = parseAbi([
  "struct Call { address target; bool allowFailure; bytes callData; }",
  "function aggregate3(Call[] calls) payable returns ((bool, bytes)[])",
]);

const GAS = toHex(3_000_000);
const GAS_PRICE = toHex(10n ** 10n);
/** More ether than is ever moved. */
const RICH = toHex(10n ** 30n);
/** The sender of others' transactions. */
const BUNDLER: Address = "0x00000000000000000000000000000000000b0001";
/** Of the node's accounts, the one that may mint. */
const FAUCET = 3;

export async function createMoves(chain: Chain): Promise<Moves> {
  const rich = new Set<string>();
  const minter = chain.accounts[FAUCET];
  if (minter === undefined) throw new Error("The node has too few accounts");
  await chain.rpc("anvil_autoImpersonateAccount", [true]);
  // The code of another token: nobody here asks for its decimals.
  await chain.rpc("anvil_setCode", [CBBTC, await chain.rpc("eth_getCode", [TOKENS.USDT, "latest"])]);

  const enrich = async (owner: Address, coin: Coin) => {
    if (rich.has(`${owner} ${coin}`)) return;
    rich.add(`${owner} ${coin}`);
    await chain.rpc("anvil_setBalance", [owner, RICH]);
    // Written into the token's storage: no Transfer is logged.
    if (coin !== "ETH") await chain.rpc("anvil_dealERC20", [owner, CONTRACTS[coin], toHex(10n ** 29n)]);
  };

  const submit = async (sends: readonly { from: Address; to: Address; data?: Hex; value?: bigint }[]) => {
    const paused = chain.miner.paused();
    await chain.miner.pause();
    const nonces = new Map<Address, number>();
    const hashes: Hex[] = [];
    for (const { from, to, data = "0x", value = 0n } of sends) {
      const nonce =
        nonces.get(from) ??
        Number(hexShape.parse(await chain.rpc("eth_getTransactionCount", [from, "latest"])));
      nonces.set(from, nonce + 1);
      const transaction = {
        from,
        to,
        data,
        value: toHex(value),
        nonce: toHex(nonce),
        gas: GAS,
        gasPrice: GAS_PRICE,
      };
      hashes.push(hexShape.parse(await chain.rpc("eth_sendTransaction", [transaction])));
    }
    await chain.miner.mine();
    if (!paused) chain.miner.resume();
    return hashes;
  };

  return {
    send: async (moves) => {
      for (const { from, coin } of moves) {
        await enrich(from, coin);
      }
      return submit(
        moves.map(({ coin, from, to, amount }) =>
          coin === "ETH"
            ? { from, to, value: amount }
            : {
                from,
                to: CONTRACTS[coin],
                data: encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, amount] }),
              },
        ),
      );
    },
    together: async (moves) => {
      await enrich(BUNDLER, "ETH");
      for (const { coin, from } of moves) {
        await enrich(from, coin);
        const allow = { abi: erc20Abi, functionName: "approve", args: [MULTICALL3, maxUint256] } as const;
        if (rich.has(`${from} ${coin} allowed`)) continue;
        rich.add(`${from} ${coin} allowed`);
        await submit([{ from, to: CONTRACTS[coin], data: encodeFunctionData(allow) }]);
      }
      const calls = moves.map(({ coin, from, to, amount }) => ({
        target: CONTRACTS[coin],
        allowFailure: false,
        callData: encodeFunctionData({
          abi: erc20Abi,
          functionName: "transferFrom",
          args: [from, to, amount],
        }),
      }));
      const data = encodeFunctionData({ abi: multicall, functionName: "aggregate3", args: [calls] });
      const [hash] = await submit([{ from: BUNDLER, to: MULTICALL3, data }]);
      if (hash === undefined) throw new Error("The transaction was not sent");
      return hash;
    },
    mint: async (coin, to, amount) => {
      const data = encodeFunctionData({ abi: faucet, functionName: "mint", args: [to, amount] });
      const [hash] = await submit([{ from: minter, to: CONTRACTS[coin], data }]);
      if (hash === undefined) throw new Error("The transaction was not sent");
      return hash;
    },
    drop: async (blocks) => {
      await chain.rpc("anvil_reorg", [blocks, []]);
      // Later writes to feeds and tokens are gone with the blocks.
      rich.clear();
      await chain.feeds.tick();
    },
    mine: async (blocks) => {
      for (let i = 0; i < blocks; i++) await chain.miner.mine();
    },
  };
}
