import type { Address, Hex } from "viem";
import * as z from "zod";
import { intercept } from "../../support/outside";

/** A swap provider that lies: the stand-in's quotes, changed on their way. */

const address = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]{40}$/)]);
const hex = z.templateLiteral(["0x", z.string().regex(/^[0-9a-fA-F]*$/)]);
const quoteShape = z.looseObject({
  buyAmount: z.string(),
  minBuyAmount: z.string(),
  permit2: z
    .looseObject({
      eip712: z.looseObject({
        types: z.record(z.string(), z.array(z.object({ name: z.string(), type: z.string() }))),
        message: z.object({
          permitted: z.object({ token: address, amount: z.string() }),
          spender: address,
          nonce: z.string(),
          deadline: z.string(),
        }),
      }),
    })
    .nullable(),
  transaction: z.looseObject({ to: address, data: hex, value: z.string() }),
});

export type SentQuote = z.infer<typeof quoteShape>;

/** Changes every quote until `closeApp`, or until the returned function is called. */
export function lie(change: (quote: SentQuote) => void): () => void {
  return intercept(async ({ url }, pass) => {
    const response = await pass();
    if (!url.includes("/swap/permit2/quote")) return response;
    const quote = quoteShape.safeParse(await response.clone().json());
    if (!quote.success) return response;
    change(quote.data);
    return Response.json(quote.data);
  });
}

/** The same quote with another contract to call; the permit, if any, is for that contract. */
export function redirect(quote: SentQuote, to: Address, data: Hex): void {
  quote.transaction.to = to;
  quote.transaction.data = data;
  if (quote.permit2 !== null) quote.permit2.eip712.message.spender = to;
}
