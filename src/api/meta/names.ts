/**
 * What names, keys and other short texts must look like. Each format lists what is wrong with a value, in upstream's words;
 * an empty list means it is fine. Lengths are those of the UTF-8 form.
 */
import type { Check } from './check.ts'

/** What an object's name must look like; `isPrefix` is true for a generateName. */
export type NameRule = (name: string, isPrefix: boolean) => string[]

export type Format = (value: string) => string[]

/** Reports everything a format holds against the value. */
export function mustBe(format: Format, check: Check<string>): void {
  const value = check.value
  for (const message of format(value)) check.invalid(message)
}

/** What most labels look like: a short name without a domain. */
const plainLabel = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/

/** Whether a text is a sound key as well as a sound value of a label, at a glance; where it is not, the formats say more. */
export const isPlainLabel = (text: string): boolean => plainLabel.test(text)

/** The formats of upstream's first validation count characters, the later ones bytes; both mean bytes. */
export const maxLengthError = (length: number, unit: 'characters' | 'bytes' = 'characters'): string =>
  `must be no more than ${length} ${unit}`

export function regexError(message: string, pattern: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ')
  return `${message} (${shown === '' ? '' : `e.g. ${shown}`}regex used for validation is '${pattern}')`
}

export const emptyError = 'must be non-empty'

export const rangeError = (low: number, high: number): string => `must be between ${low} and ${high}, inclusive`

/** The size of the text in UTF-8. */
export const byteLength = (text: string): number => Buffer.byteLength(text)

// A text of n UTF-16 units has between n and 3n bytes, so most need no count.
function isLongerThan(text: string, maxBytes: number): boolean {
  return text.length > maxBytes || (text.length * 3 > maxBytes && byteLength(text) > maxBytes)
}

const whole = (pattern: string, flags?: string): RegExp => new RegExp(`^(?:${pattern})$`, flags)

const dns1123LabelPattern = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const dns1123SubdomainPattern = `${dns1123LabelPattern}(\\.${dns1123LabelPattern})*`
const underscoreLabelPattern = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?'
const underscoreSubdomainPattern = `${underscoreLabelPattern}(\\.${underscoreLabelPattern})*`
const dns1035LabelPattern = '[a-z]([-a-z0-9]*[a-z0-9])?'
const wildcardSubdomainPattern = `\\*\\.${dns1123SubdomainPattern}`

const dns1123LabelRegex = whole(dns1123LabelPattern)
const dns1123SubdomainRegex = whole(dns1123SubdomainPattern)
// With u, because Go's (?i) folds all of Unicode: the Kelvin sign is a k.
const caselessSubdomainRegex = whole(dns1123SubdomainPattern, 'iu')
const underscoreSubdomainRegex = whole(underscoreSubdomainPattern)
const dns1035LabelRegex = whole(dns1035LabelPattern)
const wildcardSubdomainRegex = whole(wildcardSubdomainPattern)

export const dns1123LabelMaxLength = 63
export const dns1123SubdomainMaxLength = 253

const dns1123LabelError = regexError(
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
  dns1123LabelPattern,
  'my-name',
  '123-abc',
)
const dns1123SubdomainError = regexError(
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
  dns1123SubdomainPattern,
  'example.com',
)

function dns1123LabelIn(unit: 'characters' | 'bytes'): Format {
  return (value) => {
    const errors: string[] = []
    if (isLongerThan(value, dns1123LabelMaxLength)) errors.push(maxLengthError(dns1123LabelMaxLength, unit))
    // A subdomain that is no label can only have dots too many: the length was validated before.
    if (!dns1123LabelRegex.test(value)) errors.push(dns1123SubdomainRegex.test(value) ? 'must not contain dots' : dns1123LabelError)
    return errors
  }
}

function subdomainIn(unit: 'characters' | 'bytes', regex: RegExp, error: string): Format {
  return (value) => {
    const errors: string[] = []
    if (isLongerThan(value, dns1123SubdomainMaxLength)) errors.push(maxLengthError(dns1123SubdomainMaxLength, unit))
    if (!regex.test(value)) errors.push(error)
    return errors
  }
}

export const dns1123Label: Format = dns1123LabelIn('characters')

export const dns1123Subdomain: Format = subdomainIn('characters', dns1123SubdomainRegex, dns1123SubdomainError)

export const dns1123SubdomainWithUnderscore: Format = subdomainIn(
  'characters',
  underscoreSubdomainRegex,
  regexError(
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
    underscoreSubdomainPattern,
    'example.com',
  ),
)

export const wildcardDns1123Subdomain: Format = subdomainIn(
  'characters',
  wildcardSubdomainRegex,
  regexError(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    wildcardSubdomainPattern,
    '*.example.com',
  ),
)

const dns1035LabelError = regexError(
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
  dns1035LabelPattern,
  'my-name',
  'abc-123',
)

export const dns1035Label: Format = (value) => {
  const errors: string[] = []
  if (isLongerThan(value, dns1123LabelMaxLength)) errors.push(maxLengthError(dns1123LabelMaxLength))
  if (!dns1035LabelRegex.test(value)) errors.push(dns1035LabelError)
  return errors
}

/** `k8s-short-name` of declarative validation: a DNS label, its length told in bytes. */
export const shortName: Format = dns1123LabelIn('bytes')

/** `k8s-long-name` of declarative validation: a DNS subdomain, its length told in bytes. */
export const longName: Format = subdomainIn('bytes', dns1123SubdomainRegex, dns1123SubdomainError)

/** `k8s-long-name-caseless` of declarative validation. */
export const longNameCaseless: Format = subdomainIn(
  'bytes',
  caselessSubdomainRegex,
  regexError(
    "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
    dns1123SubdomainPattern,
    'Example.com',
  ),
)

const labelKeyPattern = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const labelValuePattern = `(${labelKeyPattern})?`
const labelKeyRegex = whole(labelKeyPattern)
const labelValueRegex = whole(labelValuePattern)
const labelMaxLength = 63

const labelKeyError = regexError(
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelKeyPattern,
  'MyName',
  'my.name',
  '123-abc',
)
const labelValueError = regexError(
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
  labelValuePattern,
  'MyValue',
  'my_value',
  '12345',
)

/** A label's key: a name, or a DNS subdomain, `/` and a name. */
export const qualifiedName: Format = (value) => {
  const slash = value.indexOf('/')
  const name = slash < 0 ? value : value.slice(slash + 1)
  if (name.includes('/')) {
    return [`a valid label key ${labelKeyError} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`]
  }
  const errors: string[] = []
  if (slash === 0) errors.push(`prefix part ${emptyError}`)
  else if (slash > 0) for (const message of longName(value.slice(0, slash))) errors.push(`prefix part ${message}`)
  if (name === '') errors.push(`name part ${emptyError}`)
  else if (isLongerThan(name, labelMaxLength)) errors.push(`name part ${maxLengthError(labelMaxLength, 'bytes')}`)
  if (!labelKeyRegex.test(name)) errors.push(`name part ${labelKeyError}`)
  return errors
}

export const labelValue: Format = (value) => {
  const errors: string[] = []
  if (isLongerThan(value, labelMaxLength)) errors.push(maxLengthError(labelMaxLength, 'bytes'))
  if (!labelValueRegex.test(value)) errors.push(labelValueError)
  return errors
}

/** Fits into a URL's path; neither emptiness nor length is validated. */
export const pathSegmentName: Format = (value) => (value === '.' || value === '..' ? [`may not be '${value}'`] : pathSegmentPrefix(value))

/** As a name, but what follows may still turn `.` into something better. */
export const pathSegmentPrefix: Format = (value) => {
  const errors: string[] = []
  if (value.includes('/')) errors.push("may not contain '/'")
  if (value.includes('%')) errors.push("may not contain '%'")
  return errors
}

const namedLike =
  (format: Format): NameRule =>
  (name, isPrefix) =>
    format(isPrefix ? withMaskedDash(name) : name)

/**
 * Something will follow the prefix, so that it may end in a dash. As upstream, the dash takes the character before it along
 * (`a_-` passes); one outside ASCII stays, because upstream cuts it in half and so refuses it.
 */
function withMaskedDash(name: string): string {
  return name.length > 1 && name.endsWith('-') && name.charCodeAt(name.length - 2) < 0x80 ? `${name.slice(0, -2)}a` : name
}

export const nameIsDns1123Subdomain: NameRule = namedLike(dns1123Subdomain)
export const nameIsDns1123Label: NameRule = namedLike(dns1123Label)
export const nameIsDns1035Label: NameRule = namedLike(dns1035Label)
export const nameIsPathSegment: NameRule = (name, isPrefix) => (isPrefix ? pathSegmentPrefix(name) : pathSegmentName(name))

/** For the kinds that validate the finished name only, as declarative validation words it (ReplicationController, DeviceClass). */
export const nameIsLongName: NameRule = (name, isPrefix) => (isPrefix ? [] : longName(name))
