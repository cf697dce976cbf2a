/** What the formats of strings in schemas accept. Names are told apart without their dashes: `date-time` is `datetime`. */

import { isIpv4, parseCidr, parseIp } from '#api/meta/ip.ts'
import { dns1123Label, dns1123Subdomain } from '#api/meta/names.ts'
import { isGoDuration } from '#base/duration.ts'
import { isBase64 } from '#wire/pem.ts'

const uuid = (version: string, variant: string) => new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}-?${variant}-?[0-9a-f]{12}$`, 'i')
const any4 = '[0-9a-f]{4}'
const variant = '[89ab][0-9a-f]{3}'

const matches =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text)

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  bsonobjectid: matches(/^[0-9a-fA-F]{24}$/),
  uri: (text) => URL.canParse(text) || /^\/[^\s]*$/.test(text),
  email: matches(/^[^\s@<>]+@[^\s@<>]+$/),
  hostname: isHostname,
  ipv4: (text) => parseIp(text) !== undefined && !text.includes(':'),
  ipv6: (text) => parseIp(text) !== undefined && text.includes(':'),
  cidr: (text) => parseCidr(text) !== undefined,
  mac: matches(/^([0-9a-fA-F]{2}([:-])([0-9a-fA-F]{2}\2){4,18}[0-9a-fA-F]{2}|([0-9a-fA-F]{4}\.){2,9}[0-9a-fA-F]{4})$/),
  uuid: matches(uuid(any4, any4)),
  uuid3: matches(uuid('3[0-9a-f]{3}', any4)),
  uuid4: matches(uuid('4[0-9a-f]{3}', variant)),
  uuid5: matches(uuid('5[0-9a-f]{3}', variant)),
  isbn: (text) => isIsbn10(text) || isIsbn13(text),
  isbn10: isIsbn10,
  isbn13: isIsbn13,
  creditcard: isCreditCard,
  ssn: matches(/^\d{3}[- ]\d{2}[- ]\d{4}$/),
  hexcolor: matches(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  rgbcolor: matches(/^rgb\(\s*(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\s*(,\s*(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])\s*){2}\)$/),
  byte: (text) => text !== '' && isBase64(text),
  password: () => true,
  date: isDate,
  duration: isDuration,
  datetime: (text) =>
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/.test(text) && !Number.isNaN(Date.parse(text.toUpperCase())),
  k8sshortname: (text) => dns1123Label(text).length === 0,
  k8slongname: (text) => dns1123Subdomain(text).length === 0,
}

/** The rule of the format; undefined for one that is not known, which is ignored. */
export function stringFormat(format: string): ((text: string) => boolean) | undefined {
  const name = format.replaceAll('-', '')
  return Object.hasOwn(formats, name) ? formats[name] : undefined
}

/** Whether the format means anything for values of the type. */
export function isKnownFormat(format: string, type = ''): boolean {
  if (type === '' || type === 'string') return stringFormat(format) !== undefined
  if (type === 'integer') return format === 'int32' || format === 'int64'
  return type === 'number' && (format === 'float' || format === 'double')
}

/** Units by all their names; the last may go on, as in `minutes`. */
const units = ['ns nano', 'us µs micro', 'ms milli', 's sec', 'm min', 'h hr hour', 'd day', 'w wk week'].map((names) => names.split(' '))

/** Upstream has no limit; half a million words would hold up everybody. */
const longestDuration = 10_000

/** Go's own form, or any number with a unit anywhere. */
function isDuration(text: string): boolean {
  if (isGoDuration(text)) return true
  if (text.length > longestDuration) return false
  for (const [, unit = ''] of text.matchAll(/\d\s*([A-Za-zµ]+)/g)) {
    const name = unit.toLowerCase()
    if (units.some((names) => names.includes(name) || name.startsWith(names.at(-1) as string))) return true
  }
  return false
}

function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.slice(0, 10) === text
}

function isHostname(text: string): boolean {
  if (text.length > 255) return false
  const ip = parseIp(text)
  if (ip !== undefined && isIpv4(ip)) return false
  const label = '[\\p{L}\\p{S}0-9]([\\p{L}\\p{S}0-9-]{0,61}[\\p{L}\\p{S}0-9])?'
  return new RegExp(`^(${label}|(${label}\\.)+[\\p{L}]{2,63})$`, 'u').test(text)
}

const digitsOf = (text: string): string => text.replace(/[\s-]/g, '')

function isIsbn10(text: string): boolean {
  const digits = digitsOf(text)
  if (!/^\d{9}[\dX]$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, index) => total + (digit === 'X' ? 10 : Number(digit)) * (10 - index), 0)
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = digitsOf(text)
  if (!/^\d{13}$/.test(digits)) return false
  const sum = [...digits].reduce((total, digit, index) => total + Number(digit) * (index % 2 === 0 ? 1 : 3), 0)
  return sum % 10 === 0
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, '')
  if (!/^(4\d{12}(\d{3})?|5[1-5]\d{14}|6(011|5\d\d)\d{12}|3[47]\d{13}|3(0[0-5]|[68]\d)\d{11}|(2131|1800|35\d{3})\d{11})$/.test(digits)) {
    return false
  }
  const sum = [...digits].reverse().reduce((total, digit, index) => {
    const doubled = Number(digit) * (index % 2 === 0 ? 1 : 2)
    return total + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
}
