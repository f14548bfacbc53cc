import type { Row } from "./row";
import { conventions } from "./rows/conventions";
import { market } from "./rows/market";
import { messenger } from "./rows/messenger";
import { orders } from "./rows/orders";
import { owners } from "./rows/owners";
import { payments } from "./rows/payments";
import { research } from "./rows/research";
import { signals } from "./rows/signals";
import { tools } from "./rows/tools";
import { wallets } from "./rows/wallets";

/** The contract: all its rows. */

export const contract: Row[] = [
  ...conventions,
  ...tools,
  ...market,
  ...research,
  ...signals,
  ...wallets,
  ...orders,
  ...owners,
  ...messenger,
  ...payments,
];
