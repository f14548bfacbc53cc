/** The service's own accounts. */
const SERVICE_ROLES = ["relayer", "anchor"] as const;
export type ServiceRole = (typeof SERVICE_ROLES)[number];

/** @param address Checksummed; each key that was ever configured is an account of its own. */
export function serviceWalletId(role: ServiceRole, address: string): string {
  return `${role}_${address}`;
}

/** The role and address of a service account; `null` for a user's wallet. */
export function serviceAccountOf(walletId: string): { role: ServiceRole; address: string } | null {
  const role = SERVICE_ROLES.find((one) => walletId.startsWith(`${one}_`));
  return role === undefined ? null : { role, address: walletId.slice(role.length + 1) };
}
