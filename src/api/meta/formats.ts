/** The remaining small formats of fields: ports, percentages, identifiers, keys, ids and names under a domain. */
import type { Check } from './check.ts'
import { quoted } from './check.ts'
import {
  byteLength,
  dns1123Label,
  dns1123Subdomain,
  dns1123SubdomainMaxLength,
  emptyError,
  type Format,
  longName,
  maxLengthError,
  mustBe,
  qualifiedName,
  rangeError,
  regexError,
} from './names.ts'

export const mustBeNonNegative = 'must be greater than or equal to 0'
export const minimumError = (min: number): string => `must be greater than or equal to ${min}`
export const maximumError = (max: number): string => `must be less than or equal to ${max}`

export const inRange = (value: number, low: number, high: number): string[] =>
  value >= low && value <= high ? [] : [rangeError(low, high)]

export const portNum = (port: number): string[] => inRange(port, 1, 65535)
export const userId = (uid: number): string[] => inRange(uid, 0, 2147483647)
export const groupId = (gid: number): string[] => inRange(gid, 0, 2147483647)

export function nonNegative(check: Check<number | undefined>): void {
  const value = check.value
  if (value !== undefined && value < 0) check.invalid(mustBeNonNegative)
}

const patternFormat = (pattern: string, message: string, ...examples: string[]): Format => {
  const regex = new RegExp(`^(?:${pattern})$`)
  const error = regexError(message, pattern, ...examples)
  return (value) => (regex.test(value) ? [] : [error])
}

/** The name of a container's or a service's port (an IANA service name). */
export const portName: Format = (value) => {
  const errors: string[] = []
  if (byteLength(value) > 15) errors.push(maxLengthError(15))
  if (!/^[-a-z0-9]+$/.test(value)) errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)')
  if (!/[a-z]/.test(value)) errors.push('must contain at least one letter (a-z)')
  if (value.includes('--')) errors.push('must not contain consecutive hyphens')
  if (value.startsWith('-') || value.endsWith('-')) errors.push('must not begin or end with a hyphen')
  return errors
}

export const percent: Format = patternFormat(
  '[0-9]+%',
  "a valid percent string must be a numeric string followed by an ending '%'",
  '1%',
  '93%',
)

export const httpHeaderName: Format = patternFormat(
  '[-A-Za-z0-9]+',
  "a valid HTTP header must consist of alphanumeric characters or '-'",
  'X-Header-Name',
)

export const cIdentifier: Format = patternFormat(
  '[A-Za-z_][A-Za-z0-9_]*',
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_'",
  'my_name',
  'MY_NAME',
  'MyName',
)

export const conditionReason: Format = patternFormat(
  '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?',
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_'",
  'my_name',
  'MY_NAME',
  'MyName',
  'ReasonA,ReasonB',
  'ReasonA:ReasonB',
)

const strictEnvVarName: Format = patternFormat(
  '[-._a-zA-Z][-._a-zA-Z0-9]*',
  "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', and must not start with a digit",
  'my.env-name',
  'MY_ENV.NAME',
  'MyEnvName1',
)

export const envVarName: Format = (value) => [...strictEnvVarName(value), ...parentDirectory(value)]

/** What the gate RelaxedEnvironmentVariableValidation allows. */
export const relaxedEnvVarName: Format = (value) => {
  if (value === '') return [`environment variable name ${emptyError}`]
  return /^[ -<>-~]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"]
}

const configMapKeyCharacters: Format = patternFormat(
  '[-._a-zA-Z0-9]+',
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  'key.name',
  'KEY_NAME',
  'key-name',
)

/** A key of a ConfigMap's or Secret's data. */
export const configMapKey: Format = (value) => {
  const errors = byteLength(value) > dns1123SubdomainMaxLength ? [maxLengthError(dns1123SubdomainMaxLength)] : []
  errors.push(...configMapKeyCharacters(value), ...parentDirectory(value))
  return errors
}

/** Keys become file names, which may not leave their directory. */
function parentDirectory(value: string): string[] {
  if (value === '.' || value === '..') return [`must not be '${value}'`]
  return value.startsWith('..') ? ["must not start with '..'"] : []
}

export const decimalInteger: Format = (value) => {
  if (value === '') return [emptyError]
  return /^(?:0|-?[1-9][0-9]*)$/.test(value) ? [] : ['must be a valid decimal integer in canonical form']
}

export const uuid: Format = (value) =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value) ? [] : ['must be a lowercase UUID in 8-4-4-4-12 format']

// Names under a domain. These report where it is the empty text, or only a part, that is wrong.

/** A DNS subdomain of at least three parts. */
export function fullyQualifiedName(check: Check<string>): void {
  const name = check.value
  const errors = dns1123Subdomain(name)
  if (name === '') check.required()
  else if (errors.length > 0) check.invalid(errors.join(','))
  else if (name.split('.').length < 3) check.invalid('should be a domain with at least three segments separated by dots')
}

/** A DNS name of at least two parts, with or without the final dot. */
export function fullyQualifiedDomainName(check: Check<string>): void {
  const name = check.value
  const domain = name.endsWith('.') ? name.slice(0, -1) : name
  const errors = dns1123Subdomain(domain)
  const labels = domain.split('.')
  const wrong = labels.find((label) => dns1123Label(label).length > 0)
  if (name === '') check.required()
  else if (errors.length > 0) check.invalid(errors.join(','), domain)
  else if (labels.length < 2) check.invalid('should be a domain with at least two segments separated by dots', domain)
  else if (wrong !== undefined) check.invalid(dns1123Label(wrong).join(','), wrong)
}

const httpPathPattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
const httpPathRegex = new RegExp(`^${httpPathPattern}$`)
const httpPathError = regexError('Invalid path', httpPathPattern)

/** `acme.io/foo`, where what follows the first slash may be any path. */
export function domainPrefixedPath(check: Check<string>): void {
  const value = check.value
  const slash = value.indexOf('/')
  const host = value.slice(0, Math.max(0, slash))
  const path = value.slice(slash + 1)
  if (value === '') check.required()
  else if (host === '' || path === '') check.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
  else {
    mustBe(dns1123Subdomain, check.with(host))
    if (!httpPathRegex.test(path)) check.invalid(httpPathError, path)
  }
}

/** `acme.io/foo`, where what follows the slash is a name. */
export function domainPrefixedKey(check: Check<string>): void {
  const value = check.value
  if (value === '') check.required()
  else if (qualifiedName(value).length > 0) mustBe(qualifiedName, check)
  else if (!value.includes('/')) check.invalid('must be a domain-prefixed key (such as "acme.io/foo")')
}

/** `k8s-resource-pool-name`: DNS subdomains joined by slashes. */
export function resourcePoolName(check: Check<string>): void {
  const value = check.value
  if (byteLength(value) > 253) check.tooLong(253)
  for (const [index, segment] of value.split('/').entries()) {
    if (segment === '') check.invalid(`segment ${index}: must not be empty`)
    else for (const message of longName(segment)) check.invalid(`segment ${index}: ${message}`, segment)
  }
}

/** `k8s-extended-resource-name`: a resource under a domain that is not Kubernetes' own, and that a quota can name. */
export function extendedResourceName(check: Check<string>): void {
  const value = check.value
  if (!value.includes('/')) check.invalid("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
  else if (value.includes('kubernetes.io/')) check.invalid(`must not have ${quoted('kubernetes.io/')} domain`)
  if (value.startsWith('requests.')) check.invalid(`must not have ${quoted('requests.')} prefix`)
  for (const message of qualifiedName(`requests.${value}`)) check.invalid(message)
}

/** `k8s-resource-fully-qualified-name`: a domain, `/` and a C identifier, as attributes of devices are named. */
export function resourceFullyQualifiedName(check: Check<string>): void {
  const value = check.value
  const parts = value.split('/')
  const [domain = '', name = ''] = parts
  if (parts.length === 1) deviceIdentifier(check.with(domain))
  if (parts.length === 2) {
    if (domain === '') check.invalid('prefix must not be empty', '')
    else {
      if (byteLength(domain) > 63) check.tooLong(63)
      for (const message of longName(domain)) check.invalid(`prefix: ${message}`, domain)
    }
    if (name === '') check.invalid('name must not be empty', '')
    else deviceIdentifier(check.with(name))
  }
  if (parts.length === 1) check.invalid('a fully qualified name must be a domain and a name separated by a slash')
}

function deviceIdentifier(check: Check<string>): void {
  const id = check.value
  if (byteLength(id) > 32) check.tooLong(32)
  mustBe(cIdentifier, check)
}
