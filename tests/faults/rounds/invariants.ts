import { erc20Abi, encodeFunctionData, type Hex } from "viem";
import * as z from "zod";
import { isFinal, tablesOf } from "../../../convex/lib/records/records";
import { records } from "../../../convex/schema";
import { TOKENS } from "../../../scripts/chain/addresses";
import { unmarked } from "../../support/marks";
import type { Host, Rows } from "./host";
import type { Workload } from "./workload";

/** What must hold of a round when all is quiet again. Each finding is a sentence; none is what is wanted. */

const UNITS_PER_CREDIT = 10_000n;
const hex = z.templateLiteral(["0x", z.string()]);
const receiptShape = z.object({ status: hex, transactionHash: hex }).nullable();

export async function findings(host: Host, workload: Workload): Promise<string[]> {
  const rows = await host.rows();
  return [
    ...unfinished(rows),
    ...unanswered(workload),
    ...(await misplacedMoney(host, rows, workload)),
    ...wrongDeposits(rows, workload),
    ...(await wrongPayments(host, rows, workload)),
    ...wrongLedger(rows),
    ...wrongShifts(rows, workload),
    ...wrongCards(host, rows),
  ];
}

function unfinished(rows: Rows): string[] {
  return tablesOf(records).flatMap((table) =>
    rows(table)
      .filter((row) => !isFinal(records[table].final, row))
      .map((row) => `a row of ${table} is left unfinished: ${JSON.stringify(row).slice(0, 500)}`),
  );
}

function unanswered({ asked }: Workload): string[] {
  return asked.flatMap(({ name, answers }) => {
    const last = answers.at(-1);
    if (last === undefined) return [`${name} was never answered`];
    const isGood =
      last.status === 200 || (last.status === 400 && /^Insufficient/.test(String(last.body["error"])));
    // What was dropped before it was signed stays dropped under its key.
    const isDropped = last.status === 502 && /nothing was moved/.test(String(last.body["error"]));
    return isGood || isDropped ? [] : [`${name} ended in ${last.status} ${JSON.stringify(last.body)}`];
  });
}

async function misplacedMoney(host: Host, rows: Rows, { moves, wallets }: Workload): Promise<string[]> {
  const found: string[] = [];
  const transactions = rows("orders");
  const spent = new Map<string, bigint>();
  for (const { kind, userId, key, token, amount, to } of moves) {
    const own = transactions.filter((row) => row["idempotencyKey"] === key);
    if (own.length > 1) found.push(`${key} has ${own.length} transactions`);
    const isConfirmed = own[0]?.["state"] === "confirmed";
    if (isConfirmed && token === "USDC") spent.set(userId, (spent.get(userId) ?? 0n) + amount);
    if (kind === "swap") continue;
    const arrived = token === "ETH" ? await etherOf(host, to) : await usdcOf(host, to);
    if (arrived !== (isConfirmed ? amount : 0n)) {
      found.push(`${key}, ${String(own[0]?.["state"])}, moved ${arrived} of ${amount} ${token}`);
    }
  }
  for (const { userId, address, usdc } of wallets) {
    const left = await usdcOf(host, address);
    const wanted = usdc - (spent.get(userId) ?? 0n);
    if (left !== wanted)
      found.push(`the wallet of ${userId} holds ${left} USDC units, its rows say ${wanted}`);
    const nonce = Number(hex.parse(await host.chain.rpc("eth_getTransactionCount", [address, "latest"])));
    const mined = transactions.filter(
      (row) => row["userId"] === userId && row["state"] === "confirmed",
    ).length;
    const reverted = transactions.filter(
      (row) => row["userId"] === userId && /was mined and reverted/.test(String(row["error"])),
    ).length;
    if (nonce !== mined + reverted)
      found.push(`${userId} has used ${nonce} nonces for ${mined} + ${reverted} transactions`);
  }
  for (const row of transactions) {
    if (row["state"] !== "confirmed") continue;
    const receipt = receiptShape.parse(await host.chain.rpc("eth_getTransactionReceipt", [row["txHash"]]));
    if (receipt?.status !== "0x1") found.push(`${String(row["txHash"])} is confirmed and not in the chain`);
  }
  const trades = rows("trades");
  // The relayer's are nobody's trades.
  const ofUsers = transactions.filter((one) => one["userId"] !== "");
  for (const row of ofUsers.filter((one) => one["parentId"] === undefined)) {
    const own = trades.filter((trade) => trade["transactionId"] === row["_id"]);
    if (own.length !== 1 || own[0]?.["status"] !== row["state"])
      found.push(`${String(row["_id"])} and its trade differ`);
  }
  return found;
}

function wrongDeposits(rows: Rows, { deposits, depositor }: Workload): string[] {
  const found: string[] = [];
  const ledger = rows("creditTransactions").filter((row) => row["userId"] === depositor);
  for (const { txHash, amount } of deposits) {
    const credits = Number(amount / UNITS_PER_CREDIT);
    const own = ledger.filter((row) => String(row["key"]).startsWith(`deposit:${txHash}`));
    if (own.length !== 1 || own[0]?.["amount"] !== credits)
      found.push(`${txHash} brought ${JSON.stringify(own)}`);
    if (rows("deposits").filter((row) => row["txHash"] === txHash).length !== 1)
      found.push(`${txHash} has no one row`);
    if (rows("spentTransfers").filter((row) => row["txHash"] === txHash).length !== 1)
      found.push(`${txHash} is not spent once`);
  }
  return found;
}

async function wrongPayments(host: Host, rows: Rows, { payers }: Workload): Promise<string[]> {
  const found: string[] = [];
  for (const { address, before } of payers) {
    const own = rows("paymentClaims").filter((row) => row["payer"] === address.toLowerCase());
    if (own.length !== 1) found.push(`${address} has ${own.length} claims`);
    const paid = before - (await usdcOf(host, address));
    if (paid !== 1_000_000n) found.push(`${address} has paid ${paid}`);
    const spent = rows("spentTransfers").filter((row) => row["from"] === address.toLowerCase());
    if (spent.length !== 1 || spent[0]?.["claimKey"] === undefined)
      found.push(`${address} spent ${JSON.stringify(spent)}`);
  }
  return found;
}

function wrongLedger(rows: Rows): string[] {
  const sums = new Map<string, number>();
  for (const row of rows("creditTransactions")) {
    const amount = Number(row["amount"]) * (row["type"] === "deduction" ? -1 : 1);
    const userId = String(row["userId"]);
    sums.set(userId, (sums.get(userId) ?? 0) + amount);
  }
  return rows("creditBalances")
    .filter((row) => row["balance"] !== (sums.get(String(row["userId"])) ?? 0))
    .map((row) => `the balance ${JSON.stringify(row)} is not the ledger's sum`);
}

function wrongShifts(rows: Rows, { shifts, asked }: Workload): string[] {
  const found: string[] = [];
  const keys = new Set(
    asked.filter(({ path }) => path.endsWith("/start")).map(({ headers }) => headers["Idempotency-Key"]),
  );
  if (rows("shifts").length !== keys.size)
    found.push(`${keys.size} shifts were started, there are ${rows("shifts").length}`);
  if (shifts !== keys.size) found.push("the workload miscounts its shifts");
  for (const shift of rows("shifts")) {
    const reports = rows("reports").filter((row) => row["jobId"] === shift["_id"]);
    const finals = reports.filter((row) => row["type"] === "final").length;
    const interims = reports.length - finals;
    const isWhole =
      shift["finalReportSent"] === true ? finals === 1 : finals === 0 && shift["error"] !== undefined;
    if (!isWhole || interims > 2 || interims !== shift["interimReportsCount"]) {
      found.push(`a shift has ${interims} interim and ${finals} final reports: ${JSON.stringify(shift)}`);
    }
  }
  return found;
}

/** Exactly once each, pictures by their captions; a card that a death left between sending and marking may have come a second time. */
function wrongCards(host: Host, rows: Rows): string[] {
  const count = (texts: readonly string[]) => {
    const counts = new Map<string, number>();
    for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
    return counts;
  };
  const texts = new Map(rows("cardTexts").map(({ _id, parts }) => [_id, z.array(z.string()).parse(parts)]));
  const partsOf = (messages: Record<string, unknown>[]) =>
    messages.flatMap(({ text }) => texts.get(text) ?? []);
  const wanted = count(partsOf(rows("messages").filter((row) => row["state"] === "sent")));
  const known = count(partsOf(rows("messages")));
  const cut = count(
    partsOf(host.remains.flatMap((left) => left("messages").filter((row) => row["state"] === "sending"))),
  );
  const arrived = count(
    host.standins
      .sent("messenger")
      .filter(({ method }) => method === "sendMessage" || method === "sendPhoto")
      .map(({ text }) => unmarked(text)),
  );
  const found: string[] = [];
  for (const [text, most] of known) {
    const times = arrived.get(text) ?? 0;
    const least = wanted.get(text) ?? 0;
    const doubts = Math.min(cut.get(text) ?? 0, most);
    if (times < least || times > most + doubts) {
      found.push(
        `a card arrived ${times} times, with ${least} to ${most} rows and ${doubts} cut: ${text.slice(0, 80)}`,
      );
    }
  }
  for (const text of arrived.keys())
    if (!known.has(text)) found.push(`a card of no row arrived: ${text.slice(0, 80)}`);
  return found;
}

async function etherOf({ chain }: Host, address: Hex): Promise<bigint> {
  return BigInt(hex.parse(await chain.rpc("eth_getBalance", [address, "latest"])));
}

async function usdcOf({ chain }: Host, address: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: "balanceOf", args: [address] });
  return BigInt(hex.parse(await chain.rpc("eth_call", [{ to: TOKENS.USDC, data }, "latest"])));
}
