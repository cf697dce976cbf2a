/** The engine is loaded with the first expression: most servers never see any, and all of them should start fast. */
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

let admission: typeof import('#api/cel/admission.ts') | undefined
export function admissionCel(): typeof import('#api/cel/admission.ts') {
  admission ??= require('#api/cel/admission.ts') as typeof import('#api/cel/admission.ts')
  return admission
}

let devices: typeof import('#api/cel/devices.ts') | undefined
export function deviceCel(): typeof import('#api/cel/devices.ts') {
  devices ??= require('#api/cel/devices.ts') as typeof import('#api/cel/devices.ts')
  return devices
}
