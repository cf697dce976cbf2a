/** How pools, requests, attributes and shares of devices are named. */
import { validateCsiDriverName } from '#api/core/v1/volume-sources.ts'
import { type Check, quoted } from '#api/meta/check.ts'
import { cIdentifier } from '#api/meta/formats.ts'
import { byteLength, dns1123Label, dns1123Subdomain, mustBe } from '#api/meta/names.ts'

const maxPoolNameBytes = 253
const maxDomainBytes = 63
const maxIdBytes = 32
export const maxQualifiedNameBytes = maxDomainBytes + 1 + maxIdBytes

export const validateDriverName = validateCsiDriverName

/** DNS subdomains, joined by slashes. */
export function validatePoolName(check: Check<string | undefined>): void {
  const name = check.value
  if (!name) {
    check.required()
    return
  }
  if (byteLength(name) > maxPoolNameBytes) check.tooLong(maxPoolNameBytes)
  for (const part of name.split('/')) mustBe(dns1123Subdomain, check.with(part))
}

/** Of attributes and capacities: a C identifier, alone (then the driver's own) or below a domain. */
export function validateQualifiedName(check: Check<string>): void {
  const name = check.value
  const [first = '', second, ...more] = name.split('/')
  if (more.length > 0) return
  if (second === undefined) {
    validateIdentifier(check.with(first))
    return
  }
  if (first === '') check.invalid('the domain must not be empty', '')
  else validateDriverName(first, check)
  if (second === '') check.invalid('the name must not be empty', '')
  else validateIdentifier(check.with(second))
}

export function validateFullyQualifiedName(check: Check<string>): void {
  const name = check.value
  validateQualifiedName(check)
  if (!name.includes('/')) check.invalid('a fully qualified name must be a domain and a name separated by a slash')
}

function validateIdentifier(check: Check<string>): void {
  const id = check.value
  if (byteLength(id) > maxIdBytes) check.tooLong(maxIdBytes)
  mustBe(cIdentifier, check)
}

/** The requests of a claim by name, each with the names of its alternatives. */
export type RequestNames = ReadonlyMap<string, ReadonlySet<string>>

export function requestNamesOf(
  requests: readonly { name: string; firstAvailable?: readonly { name: string }[] }[] | undefined | null,
): RequestNames {
  return new Map((requests ?? []).map(({ name, firstAvailable }) => [name, new Set(firstAvailable?.map((each) => each.name))]))
}

const noSuchRequest = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"

/** `request`, or `request/alternative`. */
export function validateRequestReference(check: Check<string>, names: RequestNames): void {
  const reference = check.value
  const [request = '', alternative, ...more] = reference.split('/')
  if (more.length > 0) {
    check.invalid(noSuchRequest)
    return
  }
  mustBe(dns1123Label, check.with(request))
  if (alternative !== undefined) mustBe(dns1123Label, check.with(alternative))
  const alternatives = names.get(request)
  if (!alternatives || (alternative !== undefined && !alternatives.has(alternative))) check.invalid(noSuchRequest)
}

const hex = '[0-9a-fA-F]'
const uuidBody = `${hex}{8}-${hex}{4}-${hex}{4}-${hex}{4}-${hex}{12}`
const uuidForms = new RegExp(`^(?:(?:urn:uuid:)?${uuidBody}|\\{${uuidBody}\\}|${hex}{32})$`, 'i')

/** Any written form of a UUID is understood, the normal one wanted. */
export function validateShareId(check: Check<string>): void {
  const id = check.value
  if (!uuidForms.test(id)) check.invalid(`error validating uid: ${uuidProblem(id)}`)
  else if (id.length !== 36 || id !== id.toLowerCase()) {
    check.invalid('uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters')
  }
}

function uuidProblem(id: string): string {
  const length = byteLength(id)
  if (length === 45 && !id.toLowerCase().startsWith('urn:uuid:')) return `invalid urn prefix: ${quoted(id.slice(0, 9))}`
  if (length === 38 && !(id.startsWith('{') && id.endsWith('}'))) return 'invalid bracketed UUID format'
  return [32, 36, 38, 45].includes(length) ? 'invalid UUID format' : `invalid UUID length: ${length}`
}
