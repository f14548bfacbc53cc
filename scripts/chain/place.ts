import { concat, encodeAbiParameters, stringToHex, toHex, type Address, type Hex } from "viem";
import * as z from "zod";
import { FEEDS, MULTICALL3, PERMIT2, POOL, REGISTRY, SETTLER, TOKENS } from "./addresses";
import { readArtifact, type ContractName } from "./artifacts";
import { hexShape, type Rpc, type RpcCall } from "./rpc";
import { requireSuccess } from "./transactions";

/** Puts the contracts at their addresses, which no deployment could. */

type Placement = { contract: ContractName; address: Address; args: Hex };

const GAS = toHex(20_000_000);
/** A block's limit has room for all constructors. */
const CONSTRUCTOR_GAS = toHex(1_000_000);

function placements(faucet: Address): Placement[] {
  const minted = encodeAbiParameters([{ type: "address" }], [faucet]);
  const feed = (address: Address, decimals: number, label: string): Placement => ({
    contract: "Feed",
    address,
    args: encodeAbiParameters(
      [{ type: "uint8" }, { type: "bytes32" }],
      [decimals, stringToHex(label, { size: 32 })],
    ),
  });
  return [
    { contract: "Permit2", address: PERMIT2, args: "0x" },
    { contract: "Multicall3", address: MULTICALL3, args: "0x" },
    { contract: "Usdc", address: TOKENS.USDC, args: minted },
    { contract: "Usdt", address: TOKENS.USDT, args: minted },
    { contract: "Dai", address: TOKENS.DAI, args: minted },
    { contract: "Weth", address: TOKENS.WETH, args: "0x" },
    feed(FEEDS.ETH, 8, "ETH / USD"),
    feed(FEEDS.BTC, 8, "BTC / USD"),
    feed(FEEDS.USDC, 8, "USDC / USD"),
    feed(FEEDS.USDT, 8, "USDT / USD"),
    feed(FEEDS.DAI, 8, "DAI / USD"),
    feed(FEEDS.SEQUENCER, 0, "L2 Sequencer Uptime Status Feed"),
    { contract: "Pool", address: POOL, args: "0x" },
    { contract: "Settler", address: SETTLER, args: "0x" },
    {
      contract: "Registry",
      address: REGISTRY,
      args: encodeAbiParameters([{ type: "address" }], [SETTLER]),
    },
  ];
}

const codesShape = z.array(hexShape);

async function initCodes(faucet: Address): Promise<{ address: Address; init: Hex }[]> {
  return Promise.all(
    placements(faucet).map(async ({ contract, address, args }) => {
      const { init } = await readArtifact(contract);
      return { address, init: concat([init, args]) };
    }),
  );
}

/**
 * Places all contracts on an empty chain.
 * @param faucet The account that may mint; it must have sent nothing yet.
 * @param mine Mines what has been sent.
 */
export async function placeContracts(rpc: Rpc, faucet: Address, mine: () => Promise<unknown>): Promise<void> {
  const contracts = await initCodes(faucet);
  const setCodes = (codes: readonly Hex[]) =>
    rpc.batch(contracts.map(({ address }, index): RpcCall => ["anvil_setCode", [address, codes[index]]]));

  await setCodes(contracts.map(({ init }) => init));
  // When it is called rather than deployed, the constructor runs at the right address, and returns the contract's code.
  const runtimes = codesShape.parse(
    await rpc.batch(contracts.map(({ address }) => ["eth_call", [{ to: address, gas: GAS }, "latest"]])),
  );
  // When a transaction calls it, its storage writes remain as well.
  const sent = await rpc.batch(
    contracts.map(({ address }, index) => [
      "eth_sendTransaction",
      [{ from: faucet, to: address, gas: CONSTRUCTOR_GAS, nonce: toHex(index) }],
    ]),
  );
  await mine();
  await requireSuccess(rpc, sent);
  await setCodes(runtimes);
}
