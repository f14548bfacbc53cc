import * as z from "zod";
import { getAddress, createChain, ETHER, createFundedWallet, nobody, ONE_USDC } from "../chain";
import { matches, require, same, type Row } from "../row";
import { connected, created, sendOrder, swapOrder } from "../shapes";

/** The orders that spend a wallet. */

const paperState = z.object({
  paper: z.boolean(),
  liveFrom: z.iso.datetime().nullable(),
  resultUsd: z.number().nullable(),
});
const paperOrder = z.object({ status: z.string(), paper: z.literal(true) });
const WETH = "0x4200000000000000000000000000000000000006";

const buildSwap = (userId: string, rest: object = {}) => {
  return { userId, fromToken: "ETH", toToken: "USDC", amount: "10000000000000000", ...rest };
};
const buildSend = (userId: string, toAddress: string, rest: object = {}) => {
  return { userId, toAddress, token: "ETH", amount: "1000", ...rest };
};

export const orders: Row[] = [
  {
    id: "amounts",
    says: "amount: digits in the smallest unit; a decimal point is a 400 that says so; supported tokens for swap/send: ETH, USDC, USDT, DAI, WETH; toAddress: recipient address; slippageBps is at most 1,000",
    check: async ({ post, user }) => {
      for (const amount of ["0.5", "-1", "0", "007", "1e18", "0x10", "", 1.5]) {
        (await post("/mcp/defi/swap", buildSwap(user, { amount }))).error(400);
        (await post("/mcp/defi/send", buildSend(user, nobody(), { amount }))).error(400);
      }
      const error = (await post("/mcp/defi/send", buildSend(user, nobody(), { amount: "0.5" }))).error(400);
      matches("The error", error, /amount/);
      for (const wrong of [{ fromToken: "DOGE" }, { toToken: "SOL" }, { toToken: "ETH" }])
        (await post("/mcp/defi/swap", buildSwap(user, wrong))).error(400);
      for (const wrong of [{ token: "SOL" }, { toAddress: "0x123" }, { toAddress: `0x${"0".repeat(40)}` }])
        (await post("/mcp/defi/send", buildSend(user, nobody(), wrong))).error(400);
      for (const slippageBps of [1_001, -1, 0.5, "many"])
        matches(
          "The error",
          (await post("/mcp/defi/swap", buildSwap(user, { slippageBps }))).error(400),
          /slippageBps/,
        );
    },
  },
  {
    id: "sizes",
    says: 'beyond the contract: size instead of amount ("25", "$20", "50%", "half", "all"), exactly one of the two; the answer has the exact digits; BTC means CBBTC',
    needs: ["chain"],
    check: async (world) => {
      const { post, user } = world;
      await createFundedWallet(world, user);
      const sized = (size: string, rest: object = {}) =>
        post("/mcp/defi/swap", buildSwap(user, { ...rest, size, amount: undefined, dryRun: true }));
      const sides = z.object({ toToken: z.string(), sellAmount: z.string() });
      same("0.01", (await sized("0.01")).as(sides).sellAmount, "10000000000000000");
      const dollars = (await sized("$20", { fromToken: "USDC", toToken: "BTC" })).as(sides);
      same("toToken", dollars.toToken, "CBBTC");
      require(Math.abs(Number(dollars.sellAmount) - 20_000_000) <= 200_000, "$20 is not within 1 %");
      for (const size of ["1,5", "150%", "ten"])
        matches("The error", (await sized(size)).error(400), /^size/);
      matches("Both", (await post("/mcp/defi/swap", buildSwap(user, { size: "1" }))).error(400), /size/);
    },
  },
  {
    id: "gas",
    says: "beyond the contract: POST /mcp/defi/gas { userId, usdc? (1000000 to 5000000), idempotencyKey? } gets ETH for fees with USDC; without USDC 400",
    check: async ({ post, fresh }) => {
      const userId = fresh();
      (await post("/mcp/defi/connect", { userId })).as(connected);
      for (const usdc of ["999999", "5000001", "1.5"])
        matches("The error", (await post("/mcp/defi/gas", { userId, usdc })).error(400), /usdc/);
    },
  },
  {
    id: "paper",
    says: "beyond the contract: GET|POST /mcp/defi/paper { userId, on?, startAgain?, idempotencyKey? }: paper, since, liveFrom, balances, startedWith, resultUsd, resultPercent; on paper orders move a book, have paper: true and no explorerUrl, and nothing is signed; live two hours after on: false",
    needs: ["chain"],
    check: async (world) => {
      const { post, get, fresh } = world;
      const userId = fresh();
      same("at first", (await get("/mcp/defi/paper", { userId })).as(paperState).paper, false);
      const begun = (await post("/mcp/defi/paper", { userId, on: true })).as(paperState);
      same("the mode", `${begun.paper} ${begun.liveFrom}`, "true null");
      require(Math.abs(begun.resultUsd ?? NaN) < 100, "A new book has a result");
      const swapped = await post("/mcp/defi/swap", buildSwap(userId));
      same("status", swapped.as(paperOrder).status, "confirmed");
      require(!swapped.text.includes("explorerUrl"), "An order on paper has a link to an explorer");
      const { address } = (await post("/mcp/defi/connect", { userId })).as(connected);
      same("nonce", await createChain(world).nonceOf(getAddress(address)), 0);
      const ending = (await post("/mcp/defi/paper", { userId, on: false })).as(paperState);
      const wait = Date.parse(ending.liveFrom ?? "") - Date.now();
      require(ending.paper && wait > 6_900_000, "It is live in less than two hours");
    },
  },
  {
    id: "send-eth",
    says: 'ETH: a native transaction is signed and sent; GET /mcp/defi/transaction?userId&txHash: { txHash, status, ... }; from: "basic" on send spends the basic wallet',
    needs: ["chain"],
    check: async (world) => {
      const chain = createChain(world);
      await createFundedWallet(world, world.user);
      const order = buildSend(world.user, nobody(), { amount: "1000000000000000" });
      const sent = (await world.post("/mcp/defi/send", order)).as(sendOrder);
      same("status", sent.status, "confirmed");
      same("amount", sent.amount, order.amount);
      same("what arrived", await chain.etherOf(getAddress(order.toAddress)), 1_000_000_000_000_000n);
      const { txHash } = sent;
      require(await chain.isMined(txHash), "Its hash is unknown to the chain");
      const { text } = await world.get("/mcp/defi/transaction", { userId: world.user, txHash });
      matches("The transaction", text, /"status":"confirmed"/);
      (await world.get("/mcp/defi/transaction", { userId: world.fresh(), txHash })).error(404);
      const made = (await world.post("/mcp/wallet/create", { userId: world.user })).as(created);
      await chain.sendEther(getAddress(made.address), ETHER / 50n);
      const toAddress = nobody();
      (await world.post("/mcp/defi/send", buildSend(world.user, toAddress, { from: "basic" }))).as(sendOrder);
      same("what arrived", await chain.etherOf(toAddress), 1_000n);
      same("left", (await chain.etherOf(getAddress(made.address))) < ETHER / 50n, true);
    },
  },
  {
    id: "send-erc20",
    says: "ERC-20: transfer calldata is encoded, signed and sent; insufficient balance is a 400 that says what is missing",
    needs: ["chain"],
    check: async (world) => {
      // The wallet of the common user may hold more than is too much here.
      const userId = world.fresh();
      await createFundedWallet(world, userId, { usdc: 3n * ONE_USDC });
      const toAddress = nobody();
      const order = { userId, toAddress, token: "USDC", amount: "2500000" };
      (await world.post("/mcp/defi/send", order)).as(sendOrder);
      same("what arrived", await createChain(world).usdcOf(toAddress), 2_500_000n);
      const much = { ...order, amount: "400000000" };
      matches("The error", (await world.post("/mcp/defi/send", much)).error(400), /USDC/);
    },
  },
  {
    id: "swap-eth",
    says: "POST /mcp/defi/swap: fetches a Permit2 quote on chain id 8453, slippage by default 100 basis points; sends the swap transaction; 502 is every upstream failure (swap provider, chain RPC), with a message that says which one",
    needs: ["chain", "standins"],
    check: async (world) => {
      const wallet = await createFundedWallet(world, world.user, { ether: ETHER / 10n });
      const order = buildSwap(world.user);
      const swapped = (await world.post("/mcp/defi/swap", order)).as(swapOrder);
      same("status", swapped.status, "confirmed");
      same("sellAmount", swapped.sellAmount, order.amount);
      const arrived = await createChain(world).usdcOf(wallet);
      require(arrived >=
        BigInt(swapped.minBuyAmount), `${arrived} arrived, less than ${swapped.minBuyAmount}`);
      same("approvalTxHash", swapped.approvalTxHash ?? null, null);
      same("priceChecked", swapped.priceChecked, true);
      const quote = (await world.sent("swap")).at(-1);
      same("slippageBps", quote?.query.slippageBps, "100");
      same("chainId", quote?.query.chainId, "8453");
      matches("The path", quote?.path ?? "", /permit2/);
      await world.post("/mcp/defi/swap", { ...order, slippageBps: 50 });
      same("slippageBps as asked", (await world.sent("swap")).at(-1)?.query.slippageBps, "50");
      await world.control({ provider: "swap", mode: "status", status: 500 });
      matches("The error", (await world.post("/mcp/defi/swap", order)).error(502), /swap/i);
      await world.control({ provider: "swap", clear: true });
    },
  },
  {
    id: "swap-permit",
    says: "when token approval is needed it signs and sends the approve transaction; signs the EIP-712 permit typed data",
    needs: ["chain", "standins"],
    check: async (world) => {
      const userId = world.fresh();
      const wallet = await createFundedWallet(world, userId, { usdc: 20n * ONE_USDC });
      const order = { userId, fromToken: "USDC", toToken: "WETH", amount: "5000000" };
      const first = (await world.post("/mcp/defi/swap", order)).as(swapOrder);
      require(typeof first.approvalTxHash === "string", "No approval was sent");
      require(await createChain(world).isMined(first.approvalTxHash), "The approval is unknown to the chain");
      same("USDC left", await createChain(world).usdcOf(wallet), 15n * ONE_USDC);
      require((await createChain(world).tokenOf(WETH, wallet)) > 0n, "No WETH arrived");
      (await world.post("/mcp/defi/swap", order)).as(swapOrder);
      same("USDC left", await createChain(world).usdcOf(wallet), 10n * ONE_USDC);
    },
  },
  {
    id: "swap-rehearsal",
    says: 'dryRun: true is the same way without signing; "true"/"false" are booleans as digits are numbers',
    needs: ["chain", "standins"],
    check: async (world) => {
      const userId = world.fresh();
      const wallet = await createFundedWallet(world, userId, { ether: ETHER / 10n });
      const before = await createChain(world).etherOf(wallet);
      for (const dryRun of [true, "true"])
        same("status", (await world.post("/mcp/defi/swap", buildSwap(userId, { dryRun }))).status, 200);
      same("ether", await createChain(world).etherOf(wallet), before);
      same("USDC", await createChain(world).usdcOf(wallet), 0n);
    },
  },
  {
    id: "order-repeated",
    says: "Idempotency-Key (header, or idempotencyKey in the body) makes a repeat return the first outcome and says so in the answer's own fields (repeated: true)",
    needs: ["chain"],
    check: async (world) => {
      await createFundedWallet(world, world.user);
      const toAddress = nobody();
      const order = buildSend(world.user, toAddress);
      const key = { "Idempotency-Key": "order-one" };
      const first = (await world.post("/mcp/defi/send", order, key)).as(sendOrder);
      const again = await world.post("/mcp/defi/send", order, key);
      const repeated = await world.post("/mcp/defi/send", { ...order, idempotencyKey: "order-one" });
      for (const repeat of [again, repeated]) {
        same("txHash", repeat.as(sendOrder).txHash, first.txHash);
        matches("The repeat", repeat.text, /"repeated":true/);
      }
      same("what arrived", await createChain(world).etherOf(toAddress), 1_000n);
      (await world.post("/mcp/defi/send", { ...order, amount: "2000" }, key)).error(409);
    },
  },
  {
    id: "paused",
    says: "TRADING_PAUSED stops sends, swaps and social trades (503 with a clear error)",
    needs: ["chain", "settings"],
    check: async (world) => {
      await createFundedWallet(world, world.user, { ether: ETHER / 10n });
      await world.configure({ TRADING_PAUSED: "true" });
      const send = buildSend(world.user, nobody());
      matches("The error", (await world.post("/mcp/defi/send", send)).error(503), /paused/i);
      (await world.post("/mcp/defi/swap", buildSwap(world.user))).error(503);
    },
  },
  {
    id: "free-cap",
    says: "What leaves the wallets of an id without an owner has one cap over rolling 24 hours, UNOWNED_DAILY_USD (500); the error says when it is free again; counted per id and, the same sum, per address",
    needs: ["chain", "settings"],
    check: async (world) => {
      await world.configure({ UNOWNED_DAILY_USD: "500" });
      await createFundedWallet(world, world.user, { usdc: 900n * ONE_USDC });
      const order = buildSend(world.user, nobody(), { token: "USDC", amount: "300000000" });
      (await world.post("/mcp/defi/send", order)).as(sendOrder);
      matches(
        "The error",
        (await world.post("/mcp/defi/send", order)).error(403, 429),
        /500|free again|until/i,
      );
      const statuses: number[] = [];
      for (const userId of [world.fresh(), world.fresh()]) {
        await createFundedWallet(world, userId, { usdc: 400n * ONE_USDC });
        statuses.push((await world.from("203.0.113.7").post("/mcp/defi/send", { ...order, userId })).status);
      }
      require(statuses[0] === 200 && statuses[1] !== 200, `The answers are ${statuses.join()}`);
    },
  },
];
