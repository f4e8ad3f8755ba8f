/** Who may do what through the operator API. */

/**
 * `viewer` reads what names no person. `risk` reads that and every decision. `operator` begins flows, takes steps, sees the
 * answers of the flows and asks for margins. `admin` may do all of it, and has dead letters read again.
 */
export const apiRoles = ['viewer', 'risk', 'operator', 'admin'] as const;
export type ApiRole = (typeof apiRoles)[number];

/** `sha256`: of the token's bytes, in hex. The token itself is nowhere. */
export type ApiToken = { name: string; role: ApiRole; sha256: string };
