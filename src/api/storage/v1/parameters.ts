/** What storage classes and volume attributes classes share: a driver's name, and parameters it alone understands. */
import type { Check } from '#api/meta/check.ts'
import { byteLength, qualifiedName } from '#api/meta/names.ts'

const maxParameters = 512
const maxParametersBytes = 256 * 1024

export function validateProvisioner(name: string | undefined, check: Check): void {
  if (!name) check.required()
  else for (const message of qualifiedName(name.toLowerCase())) check.invalid(name.toLowerCase(), message)
}

type Parameters = Readonly<Record<string, string>>

export function validateParameters(parameters: Parameters | undefined, check: Check): void {
  const entries = Object.entries(parameters ?? {})
  if (entries.length > maxParameters) {
    check.tooLong(maxParameters)
    return
  }
  let sizeBytes = 0
  for (const [key, value] of entries) {
    if (key === '') check.invalid(key, 'field can not be empty.')
    sizeBytes += byteLength(key) + byteLength(value)
  }
  if (sizeBytes > maxParametersBytes) check.tooLong(maxParametersBytes)
}
