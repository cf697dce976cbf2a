/** Rules for what only drivers understand. */
import type { Check } from '#api/meta/check.ts'
import { byteLength } from '#api/meta/names.ts'
import { validateDriverName } from '#api/resource/v1/device-names.ts'
import type { V1OpaqueDeviceConfiguration } from '#api/resource/v1/types.gen.ts'

const maxParameterBytes = 10 * 1024

/** `isStored` lets configuration that is there already be of any size. `check` stands at the configuration. */
export function validateDeviceConfiguration({ opaque }: { opaque?: V1OpaqueDeviceConfiguration }, isStored: boolean, check: Check): void {
  if (!opaque) {
    check.at('opaque').required()
    return
  }
  validateDriverName(opaque.driver, check.at('opaque.driver'))
  validateJsonObject(opaque.parameters, maxParameterBytes, isStored, check.at('opaque.parameters'))
}

export function validateJsonObject(value: unknown, maxBytes: number, isStored: boolean, check: Check): void {
  if (value === undefined || value === null) check.required()
  else if (!isStored && byteLength(JSON.stringify(value)) > maxBytes) check.tooLong(maxBytes)
  else if (typeof value !== 'object' || Array.isArray(value)) check.invalid('<value omitted>', 'must be a valid JSON object')
}
