import { EXAMPLE_USER } from "../lib/examples";
import type { MountedEndpoint } from "../lib/http";
import { settingsEndpoint } from "./configuring";

const settings = settingsEndpoint({
  path: "/user/messenger",
  summary:
    "Sets the user's own messenger bot and chat; either field may be sent alone, an empty one clears it.",
  example: {
    userId: EXAMPLE_USER,
    messengerBotToken: "123456789:replace-with-your-bots-token",
    messengerChatId: "123456789",
  },
});

export const messengerEndpoints: MountedEndpoint[] = [settings];
