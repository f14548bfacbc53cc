import { creditDeposit, deduct, reverseDeposit, standingOf } from "../../convex/credits/model";
import { release, reserve, settle } from "../../convex/credits/reservations";
import type { MutationCtx } from "../../convex/_generated/server";
import { measure, type Usage } from "../host/usage";
import type { Progress } from "./progress";
import { figure, type Table } from "./table";
import { createWorld, type World } from "./world";

/** Documents per operation of the credits ledger, with 10 and 10,000 rows of the user's stored. */
export const question = "Documents read and written per ledger operation, by the length of the user's ledger";

const SIZES = [10, 10_000];
/** Rows per transaction; the platform's limit is 16,000 documents. */
const CHUNK = 5_000;
/** Credits of each stored row. */
const EACH = 10;
const USER = "bench-spender-1";
const AGENT = "primary-default";

type Step = { name: string; run: (ctx: MutationCtx) => Promise<unknown> };

const deposit = (key: string, amount = 100) => ({ key, userId: USER, amount, source: "usdc" }) as const;
const reservation = (runId: string) => ({ runId, userId: USER, agentId: AGENT });
const spent = (key: string, amount: number) => ({ key, userId: USER, amount, source: "report" }) as const;

/** In this order: a later step finds what an earlier one stored. */
const steps: readonly Step[] = [
  { name: "balance", run: (ctx) => standingOf(ctx, USER) },
  { name: "deposit", run: (ctx) => creditDeposit(ctx, deposit("new")) },
  { name: "deposit, a duplicate", run: (ctx) => creditDeposit(ctx, deposit("new")) },
  { name: "deduct", run: (ctx) => deduct(ctx, spent("spent", 1)) },
  { name: "reserve", run: (ctx) => reserve(ctx, reservation("used"), 10) },
  { name: "settle, with a refund", run: (ctx) => settle(ctx, "used", { model: "m", tokensUsed: 1_500 }) },
  { name: "settle, again", run: (ctx) => settle(ctx, "used", { model: "m", tokensUsed: 1_500 }) },
  { name: "reserve", run: (ctx) => reserve(ctx, reservation("failed"), 10) },
  { name: "release", run: (ctx) => release(ctx, "failed") },
  { name: "reverse a deposit that is there", run: (ctx) => reverseDeposit(ctx, { key: "new" }) },
];
/** Behind the steps, with everything spent. */
const inDebt: readonly Step[] = [
  { name: "reverse a deposit that was spent", run: (ctx) => reverseDeposit(ctx, { key: "row-0" }) },
  { name: "deposit of one who owes", run: (ctx) => creditDeposit(ctx, deposit("late")) },
];

export async function run(progress: Progress): Promise<Table> {
  const columns: Usage[][] = [];
  for (const size of SIZES) {
    progress(`${figure(size)} rows stored`);
    columns.push(await measured(size));
  }
  return {
    inputs: [
      "Each cell: documents read / documents written / index ranges, of the one transaction that the step is.",
      "A row of the ledger and the balance are written together; nothing reads the ledger's earlier rows.",
    ],
    columns: ["", ...SIZES.map((size) => `${figure(size)} rows`)],
    rows: [...steps, ...inDebt].map(({ name }, index) => [
      name,
      ...columns.map((column) => shown(column[index])),
    ]),
    notes: [],
  };
}

async function measured(size: number): Promise<Usage[]> {
  const world = await createWorld();
  try {
    await fill(world, size);
    const usages: Usage[] = [];
    const take = async ({ run }: Step) => {
      usages.push((await measure(() => world.t.run(run))).usage);
    };
    for (const step of steps) await take(step);
    await world.t.run(async (ctx) => {
      const { balance } = await standingOf(ctx, USER);
      await deduct(ctx, spent("everything", balance));
    });
    for (const step of inDebt) await take(step);
    return usages;
  } finally {
    world.stop();
  }
}

/** The rows as the ledger would have written them, and their balance. */
async function fill({ t, clock }: World, size: number): Promise<void> {
  const at = clock.now();
  for (let first = 0; first < size; first += CHUNK) {
    await t.run(async ({ db }) => {
      for (let i = first; i < Math.min(size, first + CHUNK); i++) {
        const sums = { sequence: i + 1, balanceAfter: (i + 1) * EACH, owedAfter: 0 };
        await db.insert("creditTransactions", { ...deposit(`row-${i}`, EACH), type: "deposit", ...sums, at });
      }
    });
  }
  await t.run(({ db }) =>
    db.insert("creditBalances", { userId: USER, balance: size * EACH, owed: 0, transactions: size }),
  );
}

function shown(usage: Usage | undefined): string {
  return usage === undefined ? "-" : `${usage.read} / ${usage.written} / ${usage.ranges}`;
}
