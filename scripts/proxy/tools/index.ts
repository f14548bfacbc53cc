import type { Tool } from "../tool";
import { marketTools } from "./market";
import { messengerTools } from "./messenger";
import { researchTools } from "./research";
import { signalTools } from "./signals";
import { walletTools } from "./wallets";

export const tools: readonly Tool[] = [
  ...marketTools,
  ...signalTools,
  ...researchTools,
  ...walletTools,
  ...messengerTools,
];
