import { formatEther, parseAbi, type Address } from "viem";
import { privateKeyToAddress } from "viem/accounts";
import { getBalance, getBlock, getChainId, readContract } from "viem/actions";
import { CHAIN_ID, USDC } from "../../convex/lib/money/base";
import { optional } from "../../convex/lib/env";
import { FEED_DECIMALS, FEEDS, livePrice, SEQUENCER_FEED, sequencerIsUp } from "../../convex/prices/feeds";
import { chainClient, type ChainClient } from "../../convex/providers/chain/rpc/client";
import { checkLogs, checkSimulation } from "./chainMethods";
import { fault, good, warning, type Finding } from "./finding";
import type { Tell } from "./output";

const feedAbi = parseAbi([
  "function description() view returns (string)",
  "function decimals() view returns (uint8)",
  "function latestRoundData() view returns (uint80 roundId, int256 answer, uint256 startedAt, uint256 updatedAt, uint80 answeredInRound)",
]);
const domainAbi = parseAbi(["function DOMAIN_SEPARATOR() view returns (bytes32)"]);

/** Of the real USDC contract on Base: name "USD Coin", version "2", chain id 8453. */
const USDC_DOMAIN = "0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f";

/** Base makes a block every 2 s. */
const OLD_HEAD_MS = 60_000;
/** A settlement costs far less than a thousandth of this. */
const LOW_GAS_WEI = 1_000_000_000_000_000n;

/** Whether `CHAIN_RPC_URL` serves Base, with the contracts that the service relies on. */
export async function checkChain(nowMs: number, tell: Tell): Promise<void> {
  const client = chainClient();
  const rpc = "chain RPC";
  try {
    const id = await getChainId(client);
    if (id !== CHAIN_ID) {
      const says = `is on chain ${id}, not on Base (${CHAIN_ID})`;
      tell(fault(rpc, says, "Set CHAIN_RPC_URL to an RPC endpoint of Base."));
      return;
    }
    const head = await getBlock(client);
    tell(checkHead(Number(head.timestamp) * 1000, nowMs));
    await Promise.all(FEED_NAMES.map(async (name) => tell(await checkFeed(client, name, nowMs))));
    tell(await checkSequencer(client, nowMs));
    tell(await checkUsdc(client));
    tell(await checkLogs(client));
    tell(await checkSimulation(client));
    for (const finding of await checkPayments(client)) tell(finding);
    for (const finding of await checkAnchor(client)) tell(finding);
  } catch {
    tell(fault(rpc, "could not be reached", "Check that CHAIN_RPC_URL is right and not rate-limited."));
  }
}

type FeedName = keyof typeof FEEDS;
const FEED_NAMES = ["ETH", "BTC", "USDC", "USDT", "DAI"] as const satisfies readonly FeedName[];

/** Checks the clock: a local clock far from the chain's would refuse good prices and payments. */
function checkHead(headMs: number, nowMs: number): Finding {
  const seconds = Math.round((nowMs - headMs) / 1000);
  if (nowMs - headMs > OLD_HEAD_MS) {
    return fault(
      "chain RPC",
      `its newest block is ${seconds} s old`,
      "Use another RPC endpoint, or set this machine's clock.",
    );
  }
  if (headMs - nowMs > OLD_HEAD_MS) {
    return fault("clock", `this machine is ${-seconds} s behind the chain`, "Set this machine's clock.");
  }
  return good(
    "chain RPC",
    `is on Base, newest block ${Math.max(0, seconds)} s ago; this machine's clock agrees`,
  );
}

async function checkFeed(client: ChainClient, name: FeedName, nowMs: number): Promise<Finding> {
  const subject = `${name}/USD feed`;
  const { address } = FEEDS[name];
  try {
    const [description, decimals, round] = await Promise.all([
      readContract(client, { address, abi: feedAbi, functionName: "description" }),
      readContract(client, { address, abi: feedAbi, functionName: "decimals" }),
      readContract(client, { address, abi: feedAbi, functionName: "latestRoundData" }),
    ]);
    if (description !== `${name} / USD` || decimals !== FEED_DECIMALS) {
      return fault(
        subject,
        "the contract at its address is another one",
        "Do not trade: report the address.",
      );
    }
    const price = livePrice(name, { answer: round[1], updatedAt: round[3] }, nowMs);
    if (price === null)
      return warning(subject, "its price is stale", "Tickers are used until it is fresh again.");
    return good(subject, `is fresh: ${(Number(price) / 10 ** FEED_DECIMALS).toFixed(2)} USD`);
  } catch {
    return fault(
      subject,
      "there is no such feed on this chain",
      "See whether CHAIN_RPC_URL is Base's main network.",
    );
  }
}

async function checkSequencer(client: ChainClient, nowMs: number): Promise<Finding> {
  const subject = "sequencer";
  try {
    const round = await readContract(client, {
      address: SEQUENCER_FEED,
      abi: feedAbi,
      functionName: "latestRoundData",
    });
    if (sequencerIsUp({ answer: round[1], startedAt: round[2] }, nowMs)) return good(subject, "is up");
    return warning(
      subject,
      "is down, or was down within the last hour",
      "Feeds are used again an hour after it has come back.",
    );
  } catch {
    return fault(subject, "its feed cannot be read", "See whether CHAIN_RPC_URL is Base's main network.");
  }
}

async function checkUsdc(client: ChainClient): Promise<Finding> {
  const separator = await readContract(client, {
    address: USDC,
    abi: domainAbi,
    functionName: "DOMAIN_SEPARATOR",
  }).catch(() => null);
  if (separator === USDC_DOMAIN) return good("USDC", "is the contract that payments are signed for");
  return fault(
    "USDC",
    "the contract at its address is another one",
    "See whether CHAIN_RPC_URL is Base's main network.",
  );
}

async function checkPayments(client: ChainClient): Promise<Finding[]> {
  const platform = optional("PLATFORM_WALLET_ADDRESS");
  if (platform === undefined) return [];
  const findings: Finding[] = [];
  const key = optional("X402_RELAYER_PRIVATE_KEY");
  if (key === undefined) return findings;
  const relayer = privateKeyToAddress(`0x${key.slice(2)}` satisfies Address);
  if (relayer.toLowerCase() === platform.toLowerCase()) {
    findings.push(
      fault(
        "X402_RELAYER_PRIVATE_KEY",
        "is the platform wallet's own key",
        "Use an account that holds gas and nothing else.",
      ),
    );
  }
  findings.push(await checkGas(client, "relayer", relayer));
  return findings;
}

async function checkAnchor(client: ChainClient): Promise<Finding[]> {
  const key = optional("ANCHOR_PRIVATE_KEY");
  if (key === undefined) return [];
  return [await checkGas(client, "anchor", privateKeyToAddress(`0x${key.slice(2)}` satisfies Address))];
}

async function checkGas(client: ChainClient, name: string, address: Address): Promise<Finding> {
  const balance = await getBalance(client, { address });
  const says = `the ${name} holds ${formatEther(balance)} ETH`;
  return balance < LOW_GAS_WEI
    ? warning(name, says, `Send a little ETH on Base to ${address}.`)
    : good(name, says);
}
