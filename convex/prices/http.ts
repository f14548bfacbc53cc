import * as z from "zod";
import { EXAMPLE_TIME } from "../lib/http/examples";
import { endpoint, type MountedEndpoint } from "../lib/http/endpoint";
import { wholeNumberOr } from "../lib/http/input";
import { readPrices, shownPrices } from "./views";

const MAX_HOURS = 720;
const DEFAULT_HOURS = 48;

const prices: MountedEndpoint = endpoint({
  methods: ["GET"],
  path: "/mcp/prices",
  summary: "Measured prices of BTC and ETH, and the service's own hourly history of them.",
  description:
    "Every five minutes the price feeds are asked, else the exchanges; each price says who gave it. Reading costs nothing and asks nobody. An hour in which no price was taken is left out.",
  example: {
    input: { hours: 1 },
    output: {
      hours: 1,
      prices: {
        BTC: {
          priceUsd: 97_250.5,
          source: "chainlink",
          observedAt: EXAMPLE_TIME,
          change24hPercent: 1.42,
          closes: [{ at: "2026-01-05T09:00:00.000Z", priceUsd: 97_180.2, source: "chainlink" }],
        },
        ETH: null,
      },
    },
  },
  input: z.object({
    hours: wholeNumberOr(DEFAULT_HOURS, 1, MAX_HOURS).describe(
      `How many hours of history, 1 to ${MAX_HOURS}; ${DEFAULT_HOURS} when left out.`,
    ),
  }),
  returns: shownPrices,
  handler: (ctx, { hours }) => readPrices(ctx, hours),
});

export const priceEndpoints: MountedEndpoint[] = [prices];
