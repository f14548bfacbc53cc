import type { Address } from "viem";
import type { Chain } from "../../../scripts/chain";
import { TOKENS } from "../../../scripts/chain/addresses";
import { clientOf, balanceOf } from "../../chain/support";
import { ONE, PLATFORM } from "../../payments/payer";
import type { Order, World } from "./reorgOrders";

/** What a round has moved, against what it was to move. */

const usdcOf = (chain: Chain, address: Address) => balanceOf(chain, TOKENS.USDC, address);

export async function holdings(chain: Chain, { app, payers }: World) {
  const paid = await Promise.all(payers.map(({ address }) => usdcOf(chain, address)));
  return {
    received: await usdcOf(chain, PLATFORM),
    paid: paid.reduce((sum, one) => sum + one, 0n),
    delivered: (await app.rows("paymentClaims")).filter(({ state }) => state === "delivered").length,
  };
}

/** What was lost or done twice. */
export async function wrongs(
  chain: Chain,
  world: World,
  orders: readonly Order[],
  before: Awaited<ReturnType<typeof holdings>>,
): Promise<string[]> {
  const found: string[] = [];
  const rows = await world.app.rows("orders");
  for (const order of orders) {
    if (order.kind !== "send") continue;
    const { to, token, amount, key } = order;
    const arrived =
      token === "ETH" ? await clientOf(chain).getBalance({ address: to }) : await usdcOf(chain, to);
    const states = rows
      .filter(({ idempotencyKey = "" }) => idempotencyKey.endsWith(` ${key}`))
      .map(({ state }) => state);
    const owed = states[0] === "confirmed" ? amount : 0n;
    if (states.length > 1 || arrived !== owed) {
      found.push(`${arrived} ${token} of ${amount} arrived by what is ${states.join(" and ")}`);
    }
  }
  const after = await holdings(chain, world);
  const reports = orders.filter(({ kind }) => kind === "report").length;
  const counted = [
    after.received - before.received,
    before.paid - after.paid,
    BigInt(after.delivered - before.delivered) * ONE,
  ];
  if (counted.some((one) => one !== BigInt(reports) * ONE)) {
    found.push(`${reports} reports were bought; received, paid and delivered: ${counted.join(", ")}`);
  }
  return found;
}
