/** What storage classes and volume attributes classes share: a driver's name, and parameters it alone understands. */
import type { Check } from '#api/meta/check.ts'
import { byteLength, qualifiedName } from '#api/meta/names.ts'

const maxParameters = 512
const maxParametersBytes = 256 * 1024

export function validateProvisioner(check: Check<string | undefined>): void {
  const name = check.value
  if (!name) check.required()
  else for (const message of qualifiedName(name.toLowerCase())) check.invalid(message, name.toLowerCase())
}

type Parameters = Readonly<Record<string, string>>

export function validateParameters(check: Check<Parameters | undefined>): void {
  const parameters = check.value
  const entries = Object.entries(parameters ?? {})
  if (entries.length > maxParameters) {
    check.tooLong(maxParameters)
    return
  }
  let sizeBytes = 0
  for (const [key, value] of entries) {
    if (key === '') check.invalid('field can not be empty.', key)
    sizeBytes += byteLength(key) + byteLength(value)
  }
  if (sizeBytes > maxParametersBytes) check.tooLong(maxParametersBytes)
}
