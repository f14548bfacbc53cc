import type { Tool } from "../tool";
import { marketTools } from "./market";
import { messengerTools } from "./messenger";
import { researchTools } from "./research";
import { walletTools } from "./wallets";

export const tools: readonly Tool[] = [...marketTools, ...researchTools, ...walletTools, ...messengerTools];
