/** Values that the API document's examples share. */

export const EXAMPLE_USER = "3f0c2a9e-6d1b-4c7e-9a54-b2f1d8e0c6a7";
export const EXAMPLE_ADDRESS = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
export const EXAMPLE_TX = "0x9b1c7f0de2a34586b7c8d9e0f1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4";
export const EXAMPLE_TIME = "2026-01-05T09:30:00.000Z";
