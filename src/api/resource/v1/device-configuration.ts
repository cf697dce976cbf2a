/** Rules for what only drivers understand. */
import type { Check } from '#api/meta/check.ts'
import { byteLength } from '#api/meta/names.ts'
import { validateDriverName } from '#api/resource/v1/device-names.ts'
import type { V1OpaqueDeviceConfiguration } from '#api/resource/v1/types.gen.ts'

const maxParameterBytes = 10 * 1024

/** `isStored` lets configuration that is there already be of any size. `check` stands at the configuration. */
export function validateDeviceConfiguration(check: Check<{ opaque?: V1OpaqueDeviceConfiguration }>, isStored: boolean): void {
  const { opaque } = check.value
  if (!opaque) {
    check.at('opaque').required()
    return
  }
  validateDriverName(opaque.driver, check.at('opaque').at('driver'))
  validateJsonObject(check.at('opaque').at('parameters'), maxParameterBytes, isStored)
}

export function validateJsonObject(check: Check<unknown>, maxBytes: number, isStored: boolean): void {
  const value = check.value
  if (value === undefined || value === null) check.required()
  else if (!isStored && byteLength(JSON.stringify(value)) > maxBytes) check.tooLong(maxBytes)
  else if (typeof value !== 'object' || Array.isArray(value)) check.invalid('must be a valid JSON object', '<value omitted>')
}
