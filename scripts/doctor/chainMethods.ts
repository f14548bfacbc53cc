import { encodeFunctionData, erc20Abi, parseAbiItem } from "viem";
import { getBlockNumber, getLogs, simulateBlocks } from "viem/actions";
import { USDC } from "../../convex/lib/money/base";
import type { ChainClient } from "../../convex/providers/chain/rpc/client";
import { PERMIT2 } from "../../convex/wallets/tokens";
import { good, warning, type Finding } from "./finding";

/** Methods of the chain's RPC that some endpoints leave out or limit. */

const transfer = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 value)");
/** How far back payments are searched by their logs. */
const BLOCKS = 100n;

/** `eth_getLogs`, over a small range and one recipient. */
export async function checkLogs(client: ChainClient): Promise<Finding> {
  const subject = "eth_getLogs";
  try {
    const head = await getBlockNumber(client);
    const logs = await getLogs(client, {
      address: USDC,
      event: transfer,
      args: { to: PERMIT2 },
      fromBlock: head > BLOCKS ? head - BLOCKS : 0n,
      toBlock: head,
    });
    return good(subject, `answers over ${BLOCKS} blocks (${logs.length} logs)`);
  } catch {
    return warning(
      subject,
      `does not answer over ${BLOCKS} blocks`,
      "Use an RPC endpoint that does: a payment whose hash is not known is found by its logs.",
    );
  }
}

/** `eth_simulateV1`, with a call that changes nothing. */
export async function checkSimulation(client: ChainClient): Promise<Finding> {
  const subject = "eth_simulateV1";
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [PERMIT2] });
  try {
    const [block] = await simulateBlocks(client, { blocks: [{ calls: [{ to: USDC, data }] }] });
    if (block?.calls[0]?.status === "success") return good(subject, "simulates");
  } catch {
    // Reported below, like an unusable answer.
  }
  return warning(
    subject,
    "is not available",
    "Use an RPC endpoint that has it: the outcome of a swap is simulated before it is signed.",
  );
}
