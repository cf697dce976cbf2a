/** The engine is loaded with the first expression: most servers never see any, and all of them should start fast. */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

export const admissionCel = () => require('#api/cel/admission.ts') as typeof import('#api/cel/admission.ts')
export const deviceCel = () => require('#api/cel/devices.ts') as typeof import('#api/cel/devices.ts')
export const identityCel = () => require('#api/cel/claims.ts') as typeof import('#api/cel/claims.ts')
export const accessCel = () => require('#api/cel/access-conditions.ts') as typeof import('#api/cel/access-conditions.ts')
