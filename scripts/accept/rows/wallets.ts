import * as z from "zod";
import { getAddress, createChain, ETHER, createFundedWallet, nobody, ONE_USDC } from "../chain";
import { matches, require, same, type Row } from "../row";
import { signIn } from "./research";
import { balance, connected, created, history, portfolio } from "../shapes";

/** Wallets: their making, and what they hold. */

const TOKENS = ["ETH", "USDC", "USDT", "DAI", "WETH"];
const walletViews = z.array(z.object({ balances: z.array(z.object({ token: z.string() })) }));

export const wallets: Row[] = [
  {
    id: "wallet-create",
    says: "POST /mcp/wallet/create: address, existing (true when a wallet already existed); idempotent per user; two kinds per user, each at most once, race-safe",
    check: async ({ post, fresh }) => {
      const userId = fresh();
      const first = (await post("/mcp/wallet/create", { userId })).as(created);
      const second = (await post("/mcp/wallet/create", { userId })).as(created);
      same("existing", `${first.existing} ${second.existing}`, "false true");
      same("address", second.address, first.address);
      require((await post("/mcp/wallet/create", { userId: fresh() })).as(created).address !==
        first.address, "Shared");
      const racer = fresh();
      const all = await Promise.all([1, 2, 3, 4].map(() => post("/mcp/wallet/create", { userId: racer })));
      same("addresses", new Set(all.map((answer) => answer.as(created).address)).size, 1);
    },
  },
  {
    id: "wallet-balance",
    says: "GET /mcp/wallet/balance: address, eth (decimal), usdc (decimal), network",
    needs: ["chain"],
    check: async (world) => {
      const userId = world.fresh();
      const wallet = getAddress((await world.post("/mcp/wallet/create", { userId })).as(created).address);
      await createChain(world).sendEther(wallet, ETHER / 4n);
      await createChain(world).sendUsdc(wallet, 1_500_000n);
      const balances = (await world.get("/mcp/wallet/balance", { userId })).as(balance);
      same("address", balances.address, wallet);
      same("eth", Number(balances.eth), 0.25);
      same("usdc", Number(balances.usdc), 1.5);
      matches("network", balances.network, /base/i);
    },
  },
  {
    id: "wallet-view-dust",
    says: "Wallet view dust filter (application): tokens below 1 USD hidden",
    needs: ["chain", "people"],
    check: async (world) => {
      const { userId, person } = await signIn(world, "dust");
      const wallet = getAddress((await world.post("/mcp/wallet/create", { userId })).as(created).address);
      await createChain(world).sendEther(wallet, ETHER / 4n);
      await createChain(world).sendUsdc(wallet, ONE_USDC / 2n);
      const view = async (args: Record<string, unknown>) =>
        walletViews.parse(await person.action("wallets/app:view", args)).flatMap(({ balances }) => balances);
      same("shown", (await view({})).map(({ token }) => token).join(), "ETH");
      same("with dust", (await view({ showDust: true })).map(({ token }) => token).join(), "ETH,USDC");
    },
  },
  {
    id: "wallet-balance-order",
    says: "reads the basic wallet, else the custody wallet, else 404, No wallet was found for this user: connect first",
    needs: ["chain"],
    check: async ({ post, get, fresh }) => {
      const userId = fresh();
      const error = (await get("/mcp/wallet/balance", { userId })).error(404);
      same("the error", error, "No wallet was found for this user: connect first");
      const custody = (await post("/mcp/defi/connect", { userId })).as(connected).address;
      same("address", (await get("/mcp/wallet/balance", { userId })).as(balance).address, custody);
      const basic = (await post("/mcp/wallet/create", { userId })).as(created).address;
      same("address", (await get("/mcp/wallet/balance", { userId })).as(balance).address, basic);
    },
  },
  {
    id: "connect",
    says: "/mcp/defi/connect: creates the custody-provider wallet for userId, or returns the existing address; basic and custody, with different addresses",
    check: async ({ post, get, fresh }) => {
      const userId = fresh();
      const basic = (await post("/mcp/wallet/create", { userId })).as(created).address;
      const first = (await post("/mcp/defi/connect", { userId })).as(connected);
      const second = (await get("/mcp/defi/connect", { userId })).as(connected);
      require(first.address !== basic, "One address for both");
      same("existing", `${first.existing} ${second.existing}`, "false true");
      same("address", second.address, first.address);
      same("walletId", second.walletId, first.walletId);
    },
  },
  {
    id: "no-keys",
    says: "Private keys are never returned by any endpoint",
    check: async ({ post, fresh }) => {
      // Another user's wallet may hold money, and the order would move it.
      const userId = fresh();
      const answers = [
        await post("/mcp/defi/connect", { userId }),
        await post("/mcp/wallet/create", { userId }),
        await post("/mcp/defi/send", { userId, toAddress: nobody(), token: "ETH", amount: "1" }),
      ];
      for (const { text } of answers)
        require(!/[0-9a-f]{64}/i.test(text) && !/privateKey|mnemonic|seed/i.test(text), text);
    },
  },
  {
    id: "portfolio",
    says: "GET /mcp/defi/portfolio: the wallet address, all token balances and total USD value; a wallet is created automatically when none exists",
    needs: ["chain"],
    check: async (world) => {
      const { user } = world;
      const userId = world.fresh();
      const { address: made } = (await world.get("/mcp/defi/portfolio", { userId })).as(portfolio);
      const connection = (await world.post("/mcp/defi/connect", { userId })).as(connected);
      same("created", `${connection.address} ${connection.existing}`, `${made} true`);
      const wallet = await createFundedWallet(world, user, { usdc: 7n * ONE_USDC });
      const holdings = (await world.get("/mcp/defi/portfolio", { userId: user })).as(portfolio);
      same("address", holdings.address, wallet);
      for (const token of TOKENS)
        require(holdings.balances.some((one) => one.token === token), `${token} is missing`);
      same(
        "raw USDC",
        holdings.balances.find(({ token }) => token === "USDC")?.raw,
        String(await createChain(world).usdcOf(wallet)),
      );
      const sum = holdings.balances.reduce((total, { valueUsd }) => total + (valueUsd ?? 0), 0);
      require(Math.abs(sum - holdings.totalValueUsd) <
        0.02, `totalValueUsd ${holdings.totalValueUsd}, not ${sum}`);
      for (const { priceUsd, priceSource } of holdings.balances)
        require((priceUsd === null) === (priceSource === null), "A price without a source");
    },
  },
  {
    id: "history",
    says: "beyond the contract: GET /mcp/defi/history: every move newest first, by orders and by other hands, with what was made of it; next goes into before; format=csv; the portfolio has the same result",
    needs: ["chain"],
    check: async (world) => {
      const userId = world.fresh();
      (await world.get("/mcp/defi/history", { userId })).error(404);
      const wallet = await createFundedWallet(world, userId, { usdc: 5n * ONE_USDC });
      const chain = createChain(world);
      const { moves, next, result } = (await world.get("/mcp/defi/history", { userId })).as(history);
      same(
        "the moves",
        moves.map(({ kind, in: got }) => `${kind} ${got?.token}`).join(),
        "received USDC,received ETH",
      );
      same("older moves", next, null);
      await chain.sendUsdc(wallet, ONE_USDC);
      const holdings = (await world.get("/mcp/defi/portfolio", { userId })).as(portfolio);
      require(holdings.result.paidInUsd >
        result.paidInUsd, `${holdings.result.paidInUsd} is paid in, not more than ${result.paidInUsd}`);
      const page = (await world.get("/mcp/defi/history", { userId, limit: "1" })).as(history);
      same("the newest", page.moves.map((move) => move.in?.amount).join(), "1");
      const before = String(page.next);
      const older = (await world.get("/mcp/defi/history", { userId, before })).as(history);
      same("the rest", older.moves.length, 2);
      const table = await world.get("/mcp/defi/history", { userId, format: "csv" });
      same("lines of the table", table.text.trim().split("\n").length, 4);
      matches("the table", table.text, /^Date,Sent Amount,.*TxHash\r\n/);
    },
  },
  {
    id: "short-id-warning",
    says: "Answers about wallets of a short id without an owner carry one fixed warning that names the way to own it (ownerUrl)",
    needs: ["chain"],
    check: async ({ post, get, user }) => {
      const answers = [
        await post("/mcp/defi/connect", { userId: user }),
        await get("/mcp/defi/portfolio", { userId: user }),
      ];
      for (const { text } of answers) matches("The answer", text, /"warning":/);
      matches("connect", answers[0]?.text ?? "", /"ownerUrl":"https?:/);
      const long = await post("/mcp/defi/connect", { userId: "a-long-and-random-id-of-somebody-4711" });
      require(!/"warning":/.test(long.text), "A long id is warned, too");
    },
  },
];
